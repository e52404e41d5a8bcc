// SPDX-License-Identifier: BSD-2-Clause
/*
 * The path comes from a file that anybody may have written. It is put together with the file's folder by its text, without
 * a look at what is there, so that ".." is gone before it is opened: below a process's root none is taken
 * (process/beneath.h).
 *
 * One is open at a time, that of the file that was asked about last: its names are asked for in a row.
 */
#include "symbolize/altfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

#define DWZ_FOLDER     "/.dwz/"
#define WAYS_IN_FOLDER 2

struct known {
	uint32_t key;
	int way; /* that found it; -1: none did */
};

struct altfiles {
	struct debugfiles *debugfiles;
	struct parser *parser;
	vec_of(struct known) known;
	struct parser_companion last; /* fd -1: there is none */
	uint32_t last_key;
	size_t nr_missing;
	uint32_t missing_key; /* the first */
};

struct altfiles *altfiles_new(struct debugfiles *debugfiles, struct parser *parser)
{
	struct altfiles *altfiles = xcalloc(1, sizeof(*altfiles));

	altfiles->debugfiles = debugfiles;
	altfiles->parser = parser;
	altfiles->last.fd = -1;
	return altfiles;
}

void altfiles_free(struct altfiles *altfiles)
{
	if (!altfiles)
		return;
	closep(&altfiles->last.fd);
	vec_release(&altfiles->known);
	free(altfiles);
}

static uint32_t file_of(uint32_t key)
{
	return debugfile_is_key(key) ? debugfile_owner(key) : key;
}

/* Paths ------------------------------------------------------------------------------------------ */

/* The noted path, which may be relative to the folder of the file. */
static bool noted_path(const struct altfiles *altfiles, uint32_t key, const char *noted,
		       struct debugfile_place *place)
{
	struct debugfile_place owner;
	char *slash;

	if (!debugfiles_place(altfiles->debugfiles, key, &owner))
		return false;
	slash = strrchr(owner.path, '/');
	place->is_of_process = owner.is_of_process;
	*place->path = '\0';
	if (*noted != '/' && slash) {
		*slash = '\0';
		if (!debugfile_append_path(place->path, sizeof(place->path), owner.path))
			return false;
	}
	return debugfile_append_path(place->path, sizeof(place->path), noted) && *place->path;
}

/* FOLDER/.dwz/REST, where the noted path is .../.dwz/REST. */
static bool path_in_dwz(const char *folder, const char *noted, char *path, size_t size)
{
	const char *rest = strstr(noted, DWZ_FOLDER);

	if (!rest || strstr(rest, "/../"))
		return false;
	return snprintf(path, size, "%s%s", folder, rest) < (int)size;
}

static int nr_ways(const struct altfiles *altfiles)
{
	int nr_folders = 0;

	while (debugfiles_folder(altfiles->debugfiles, (size_t)nr_folders))
		nr_folders++;
	return WAYS_IN_FOLDER * (nr_folders + 1) + 2;
}

/* In each folder of the host, in the system's below the process's root, and at the path as it is noted. */
static bool place_of(const struct altfiles *altfiles, uint32_t key, const struct reply_file *elf,
		     int way, struct debugfile_place *place)
{
	const char *folder =
		debugfiles_folder(altfiles->debugfiles, (size_t)(way / WAYS_IN_FOLDER));

	if (way == nr_ways(altfiles) - 2)
		return noted_path(altfiles, key, elf->altlink, place);
	place->is_of_process = !folder;
	if (!folder)
		folder = DEBUGFILE_FOLDER;
	return way % WAYS_IN_FOLDER
		       ? path_in_dwz(folder, elf->altlink, place->path, sizeof(place->path))
		       : debugfile_by_build_id(folder, elf->altlink_id, place->path,
					       sizeof(place->path));
}

/* Files ------------------------------------------------------------------------------------------ */

/* Is it in that place? Then it is the last one. */
static bool try_way(struct altfiles *altfiles, uint32_t key, const struct reply_file *elf, int way,
		    uint32_t number)
{
	struct parser_companion found = {.kind = MESSAGE_COMPANION_ALT, .number = number};
	struct debugfile_place place;

	if (way == nr_ways(altfiles) - 1)
		found.fd = debugfiles_fetch(altfiles->debugfiles, elf->altlink_id);
	else if (place_of(altfiles, key, elf, way, &place))
		found.fd = debugfiles_open_place(altfiles->debugfiles, file_of(key), &place);
	else
		return false;
	memcpy(found.id, elf->altlink_id, sizeof(found.id));
	if (found.fd < 0)
		return false;
	if (parser_companion(altfiles->parser, key, &found)) {
		closep(&found.fd);
		return false;
	}
	closep(&altfiles->last.fd);
	altfiles->last = found;
	altfiles->last_key = key;
	return true;
}

/* Its position in known, looked for if it is new. ALTFILES_MAX: there is no room. */
static uint32_t know(struct altfiles *altfiles, uint32_t key, const struct reply_file *elf)
{
	uint32_t i = 0;
	int way = 0, nr = nr_ways(altfiles);

	for (; i < altfiles->known.nr; i++)
		if (altfiles->known.at[i].key == key)
			return i;
	if (i == ALTFILES_MAX)
		return i;
	while (way < nr && !try_way(altfiles, key, elf, way, i + 1))
		way++;
	vec_push(&altfiles->known, (struct known){key, way < nr ? way : -1});
	if (way == nr && !altfiles->nr_missing++)
		altfiles->missing_key = key;
	return i;
}

const struct parser_companion *altfiles_find(struct altfiles *altfiles, uint32_t key)
{
	const struct reply_file *elf = parser_file(altfiles->parser, key, -1);
	const struct known *known;
	uint32_t i;

	if (!elf || !*elf->altlink)
		return NULL;
	i = know(altfiles, key, elf);
	if (i == ALTFILES_MAX)
		return NULL;
	known = &altfiles->known.at[i];
	if (known->way < 0)
		return NULL;
	if (altfiles->last.fd >= 0 && altfiles->last_key == key)
		return &altfiles->last;
	return try_way(altfiles, key, elf, known->way, i + 1) ? &altfiles->last : NULL;
}

size_t altfiles_nr_missing(const struct altfiles *altfiles, uint32_t *file, const char **path)
{
	if (altfiles->nr_missing) {
		*file = file_of(altfiles->missing_key);
		*path = parser_file(altfiles->parser, altfiles->missing_key, -1)->altlink;
	}
	return altfiles->nr_missing;
}
