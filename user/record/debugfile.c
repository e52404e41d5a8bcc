// SPDX-License-Identifier: BSD-2-Clause
/*
 * A place is a root, which is the host's or that of a process, and a path below it. Folders of the host are the user's
 * choice and may have symbolic links in them; below a process's root none is followed (process/beneath.h). Build-ids are
 * nothing but hexadecimal digits, the name is one component of a path, and the file's path is the kernel's.
 *
 * The parser remembers what a key stands for, so each place has one of its own.
 */
#include "record/debugfile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "process/opener.h"
#include "process/vetted.h"

#define PREFIX_DIGITS 2 /* of the build-id: the name of the folder in .build-id */
#define PLACE_SHIFT   18
#define MAX_PLACES    (1u << (30 - PLACE_SHIFT))
#define PLACE_UNKNOWN 0 /* not looked for yet; else 1 + a place */
#define PLACE_NONE    UINT16_MAX

_Static_assert(FILES_MAX_KNOWN == 1u << PLACE_SHIFT, "files come below places in a key");

struct debugfiles {
	struct files *files;
	struct parser *parser;
	struct debugfile_dirs dirs;
	vec_of(uint16_t) places; /* by file */
};

enum naming_way {
	BY_BUILD_ID, /* FOLDER/.build-id/ab/cdef.debug */
	BY_PATH,     /* FOLDER/PATH/NAME, PATH the folder of the file itself */
	BY_NAME,     /* FOLDER/NAME */
	NR_NAMING_WAYS
};

struct place {
	const char *folder;
	enum naming_way way;
	bool is_of_process; /* below its root */
};

/* Below a process's root; all else is of folders that the user gave, and of the system's. */
static const struct place of_process[] = {
	{DEBUGFILE_FOLDER, BY_BUILD_ID, true},
	{"", BY_PATH, true},
	{NULL, BY_PATH, true}, /* .debug in the file's own folder */
	{DEBUGFILE_FOLDER, BY_PATH, true},
};

#define NR_OF_PROCESS (sizeof(of_process) / sizeof(of_process[0]))

struct debugfiles *debugfiles_new(struct files *files, struct parser *parser)
{
	struct debugfiles *debugfiles = xcalloc(1, sizeof(*debugfiles));

	debugfiles->files = files;
	debugfiles->parser = parser;
	return debugfiles;
}

void debugfiles_look_in(struct debugfiles *debugfiles, struct debugfile_dirs dirs)
{
	debugfiles->dirs = dirs;
}

void debugfiles_free(struct debugfiles *debugfiles)
{
	if (!debugfiles)
		return;
	vec_release(&debugfiles->places);
	free(debugfiles);
}

/* The i-th place. false: there are no more. */
static bool place_at(const struct debugfiles *debugfiles, uint32_t i, struct place *place)
{
	uint32_t nr_given = debugfiles->dirs.nr * NR_NAMING_WAYS;

	if (i >= MAX_PLACES)
		return false;
	if (i < nr_given)
		*place = (struct place){debugfiles->dirs.at[i / NR_NAMING_WAYS],
					(enum naming_way)(i % NR_NAMING_WAYS), false};
	else if (i == nr_given)
		*place = (struct place){DEBUGFILE_FOLDER, BY_BUILD_ID, false};
	else if (i - nr_given - 1 < NR_OF_PROCESS)
		*place = of_process[i - nr_given - 1];
	else
		return false;
	return true;
}

static bool has_build_id(const char *build_id)
{
	return strspn(build_id, "0123456789abcdef") == strlen(build_id) &&
	       strlen(build_id) > PREFIX_DIGITS;
}

/* false: there is no such path. */
static bool path_of(const struct place *place, const struct reply_file *elf, const char *own_path,
		    char *path, size_t size)
{
	const char *base = text_base_name(own_path);
	int dir_len = (int)(base - own_path), len = 0;

	if (place->way == BY_BUILD_ID && has_build_id(elf->build_id))
		len = snprintf(path, size, "%s/.build-id/%.*s/%s.debug", place->folder,
			       PREFIX_DIGITS, elf->build_id, elf->build_id + PREFIX_DIGITS);
	if (place->way == BY_NAME && *elf->debuglink)
		len = snprintf(path, size, "%s/%s", place->folder, elf->debuglink);
	if (place->way == BY_PATH && *elf->debuglink && *own_path == '/')
		len = place->folder ? snprintf(path, size, "%s%.*s%s", place->folder, dir_len,
					       own_path, elf->debuglink)
				    : snprintf(path, size, "%.*s.debug/%s", dir_len, own_path,
					       elf->debuglink);
	return len > 0 && (size_t)len < size && strcmp(path, own_path) != 0;
}

static int open_place(const struct debugfiles *debugfiles, uint32_t file, const struct place *place,
		      const char *path)
{
	struct opener *opener = files_opener(debugfiles->files);

	if (place->is_of_process)
		return files_beneath(debugfiles->files, file, path);
	return opener ? opener_beneath(opener, 0, path) : file_open_vetted(path, 0, 0, 0);
}

static bool belongs(const struct debugfiles *debugfiles, const struct reply_file *elf,
		    const struct place *place, uint32_t key, int fd)
{
	const struct reply_file *debug = parser_file(debugfiles->parser, key, fd);
	uint32_t crc;

	if (!debug)
		return false;
	if (*debug->build_id && *elf->build_id)
		return !strcmp(debug->build_id, elf->build_id);
	return place->way != BY_BUILD_ID && !parser_crc(debugfiles->parser, key, fd, &crc) &&
	       crc == elf->debuglink_crc;
}

/* A descriptor of what is there, if that belongs to the file. */
static int try_place(const struct debugfiles *debugfiles, uint32_t file,
		     const struct reply_file *elf, uint32_t i, uint32_t *key)
{
	struct place place;
	char path[PATH_MAX];
	int fd scoped(closep) = -1;
	int found;

	if (!place_at(debugfiles, i, &place) ||
	    !path_of(&place, elf, files_path(debugfiles->files, file), path, sizeof(path)))
		return -ENOENT;
	fd = open_place(debugfiles, file, &place, path);
	*key = DEBUGFILE_KEY | i << PLACE_SHIFT | file;
	if (fd < 0 || !belongs(debugfiles, elf, &place, *key, fd))
		return -ENOENT;
	found = fd;
	fd = -1;
	return found;
}

static int look_everywhere(const struct debugfiles *debugfiles, uint32_t file,
			   const struct reply_file *elf, uint32_t *place, uint32_t *key)
{
	struct place ignored;

	for (*place = 0; place_at(debugfiles, *place, &ignored); (*place)++) {
		int fd = try_place(debugfiles, file, elf, *place, key);

		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

int debugfiles_open(struct debugfiles *debugfiles, uint32_t file, uint32_t *key)
{
	const struct reply_file *elf;
	uint32_t place;
	int fd;

	if (file >= FILES_MAX_KNOWN || !parser_knows(debugfiles->parser, file))
		return -ENOENT;
	while (debugfiles->places.nr <= file)
		vec_push(&debugfiles->places, PLACE_UNKNOWN);
	elf = parser_file(debugfiles->parser, file, -1);
	place = debugfiles->places.at[file];
	if (!elf || place == PLACE_NONE)
		return -ENOENT;
	if (place != PLACE_UNKNOWN)
		return try_place(debugfiles, file, elf, place - 1, key);
	fd = look_everywhere(debugfiles, file, elf, &place, key);
	debugfiles->places.at[file] = fd < 0 ? PLACE_NONE : place + 1;
	return fd;
}
