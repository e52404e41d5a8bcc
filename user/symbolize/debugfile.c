// SPDX-License-Identifier: BSD-2-Clause
/*
 * A candidate is a root, which is the host's or that of a process, and a path below it. Folders of the host are the user's
 * choice and may have symbolic links in them; below a process's root none is followed (process/beneath.h). Build-ids are
 * nothing but hexadecimal digits, the name is one component of a path, and the file's path is the kernel's.
 *
 * The parser remembers what a key stands for, so each candidate has one of its own.
 */
#include "symbolize/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/text.h"

#define PREFIX_DIGITS	  2 /* of the build-id: the name of the folder in .build-id */
#define CANDIDATE_SHIFT	  18
#define MAX_CANDIDATES	  (1u << (30 - CANDIDATE_SHIFT))
#define MAX_FETCHED	  500 /* of a run */
#define CANDIDATE_UNKNOWN 0   /* not looked for yet; else 1 + a candidate */
#define CANDIDATE_NONE	  UINT16_MAX

_Static_assert(FILES_MAX_KNOWN == 1u << CANDIDATE_SHIFT, "a key has the file in its low bits");

/* What was asked of debuginfod servers. */
struct fetched {
	char build_id[MESSAGE_BUILD_ID_BYTES];
	int fd; /* -1: there is none */
};

struct debugfiles {
	struct codefiles files;
	struct parser *parser;
	struct debugfile_dirs dirs;
	vec_of(uint16_t) candidates; /* by file */
	vec_of(struct fetched) fetched;
};

enum naming_way {
	BY_BUILD_ID, /* FOLDER/.build-id/ab/cdef.debug */
	IN_BUILD_ID, /* FOLDER/ab/cdef.debug, FOLDER being a .build-id */
	BY_PATH,     /* FOLDER/PATH/NAME, PATH the folder of the file itself */
	BY_NAME,     /* FOLDER/NAME */
	NR_NAMING_WAYS,
	BY_SEARCH = NR_NAMING_WAYS, /* wherever it lies below the folders that the user gave */
	BY_FETCHING		    /* of a debuginfod server */
};

struct candidate {
	const char *folder;
	enum naming_way way;
	bool is_of_process; /* below its root */
	uint32_t nr;	    /* BY_SEARCH: of several */
};

/* Below a process's root; all else is of folders that the user gave, and of the system's. */
static const struct candidate of_process[] = {
	{DEBUGFILE_FOLDER, BY_BUILD_ID, true, 0},
	{"", BY_PATH, true, 0},
	{NULL, BY_PATH, true, 0}, /* .debug in the file's own folder */
	{DEBUGFILE_FOLDER, BY_PATH, true, 0},
};

#define NR_OF_PROCESS (sizeof(of_process) / sizeof(of_process[0]))

struct debugfiles *debugfiles_new(const struct codefiles *files, struct parser *parser)
{
	struct debugfiles *debugfiles = xcalloc(1, sizeof(*debugfiles));

	debugfiles->files = *files;
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
	vec_release(&debugfiles->candidates);
	vec_for_each(&debugfiles->fetched, fetched)
		closep(&fetched->fd);
	vec_release(&debugfiles->fetched);
	free(debugfiles);
}

/* The i-th candidate. false: there are no more. */
static bool candidate_at(const struct debugfiles *debugfiles, uint32_t i,
			 struct candidate *candidate)
{
	uint32_t nr_given = debugfiles->dirs.nr * NR_NAMING_WAYS;

	if (i >= MAX_CANDIDATES)
		return false;
	if (i < nr_given)
		*candidate = (struct candidate){debugfiles->dirs.at[i / NR_NAMING_WAYS],
						(enum naming_way)(i % NR_NAMING_WAYS), false, 0};
	else if (i == nr_given)
		*candidate = (struct candidate){DEBUGFILE_FOLDER, BY_BUILD_ID, false, 0};
	else if (i - nr_given - 1 < NR_OF_PROCESS)
		*candidate = of_process[i - nr_given - 1];
	else if (i - nr_given - 1 - NR_OF_PROCESS < DEBUGFILE_MAX_FOUND)
		*candidate = (struct candidate){NULL, BY_SEARCH, false,
						i - nr_given - 1 - NR_OF_PROCESS};
	else if (i - nr_given - 1 - NR_OF_PROCESS == DEBUGFILE_MAX_FOUND)
		*candidate = (struct candidate){NULL, BY_FETCHING, false, 0};
	else
		return false;
	return true;
}

static bool is_build_id(const char *build_id)
{
	return strspn(build_id, "0123456789abcdef") == strlen(build_id) &&
	       strlen(build_id) > PREFIX_DIGITS;
}

bool debugfile_by_build_id(const char *folder, const char *build_id, char *path, size_t size)
{
	int len;

	if (!is_build_id(build_id))
		return false;
	len = snprintf(path, size, "%s/.build-id/%.*s/%s.debug", folder, PREFIX_DIGITS, build_id,
		       build_id + PREFIX_DIGITS);
	return len > 0 && (size_t)len < size;
}

/* false: there is no such path. */
static bool path_of(const struct candidate *candidate, const struct reply_file *elf,
		    const char *own_path, char *path, size_t size)
{
	const char *base = text_base_name(own_path);
	int dir_len = (int)(base - own_path), len = 0;

	if (candidate->way == BY_BUILD_ID)
		return debugfile_by_build_id(candidate->folder, elf->build_id, path, size);
	if (candidate->way == IN_BUILD_ID && is_build_id(elf->build_id))
		len = snprintf(path, size, "%s/%.*s/%s.debug", candidate->folder, PREFIX_DIGITS,
			       elf->build_id, elf->build_id + PREFIX_DIGITS);
	if (candidate->way == BY_NAME && *elf->debuglink)
		len = snprintf(path, size, "%s/%s", candidate->folder, elf->debuglink);
	if (candidate->way == BY_PATH && *elf->debuglink && *own_path == '/')
		len = candidate->folder ? snprintf(path, size, "%s%.*s%s", candidate->folder,
						   dir_len, own_path, elf->debuglink)
					: snprintf(path, size, "%.*s.debug/%s", dir_len, own_path,
						   elf->debuglink);
	return len > 0 && (size_t)len < size && strcmp(path, own_path) != 0;
}

int debugfiles_open_place(const struct debugfiles *debugfiles, uint32_t file,
			  const struct debugfile_place *candidate)
{
	const struct codefiles *files = &debugfiles->files;

	return candidate->is_of_process ? files->beneath(files->ctx, file, candidate->path)
					: files->open(files->ctx, candidate->path);
}

bool debugfile_append_path(char *path, size_t size, const char *parts)
{
	size_t len = strlen(path);

	for (const char *at = parts; *at;) {
		size_t part = strcspn(at, "/");

		if (part == 2 && !strncmp(at, "..", 2)) {
			char *slash = strrchr(path, '/');

			len = slash ? (size_t)(slash - path) : 0;
			path[len] = '\0';
		} else if (part && !(part == 1 && *at == '.')) {
			if (len + part + 2 > size)
				return false;
			path[len++] = '/';
			memcpy(path + len, at, part);
			len += part;
			path[len] = '\0';
		}
		at += part + (at[part] == '/');
	}
	return true;
}

uint64_t debugfiles_waited_ns(const struct debugfiles *debugfiles)
{
	return debugfiles->dirs.fetcher ? fetcher_waited_ns(debugfiles->dirs.fetcher) : 0;
}

const char *debugfiles_folder(const struct debugfiles *debugfiles, size_t i)
{
	if (i < debugfiles->dirs.nr)
		return debugfiles->dirs.at[i];
	return i == debugfiles->dirs.nr ? DEBUGFILE_FOLDER : NULL;
}

/* The path of a candidate where the file's debug file may be. false: there is no such path. */
static bool find_candidate(const struct debugfiles *debugfiles, uint32_t file,
			   const struct reply_file *elf, const struct candidate *candidate,
			   struct debugfile_place *found)
{
	const struct codefiles *files = &debugfiles->files;

	found->is_of_process = candidate->is_of_process;
	if (candidate->way == BY_FETCHING || (candidate->way == BY_SEARCH && !files->search))
		return false;
	if (candidate->way == BY_SEARCH)
		return files->search(files->ctx, elf->build_id, candidate->nr, found->path,
				     sizeof(found->path));
	return path_of(candidate, elf, files->path(files->ctx, file), found->path,
		       sizeof(found->path));
}

bool debugfiles_place(const struct debugfiles *debugfiles, uint32_t key,
		      struct debugfile_place *found)
{
	uint32_t file = debugfile_is_key(key) ? debugfile_owner(key) : key;
	const char *own_path = debugfiles->files.path(debugfiles->files.ctx, file);
	const struct reply_file *elf;
	struct candidate candidate;

	if (file == key) {
		found->is_of_process = true;
		return *own_path == '/' && snprintf(found->path, sizeof(found->path), "%s",
						    own_path) < (int)sizeof(found->path);
	}
	elf = parser_file(debugfiles->parser, file, -1);
	return elf &&
	       candidate_at(debugfiles, (key & ~DEBUGFILE_KEY) >> CANDIDATE_SHIFT, &candidate) &&
	       find_candidate(debugfiles, file, elf, &candidate, found);
}

/* 0: it belongs to the file; else why not (codefiles.h). */
static int check_whose(const struct debugfiles *debugfiles, const struct reply_file *elf,
		       const struct candidate *candidate, uint32_t key, int fd)
{
	const struct reply_file *debug = parser_file(debugfiles->parser, key, fd);
	uint32_t crc;

	if (!debug)
		return -ENOEXEC;
	if (*debug->build_id && *elf->build_id)
		return strcmp(debug->build_id, elf->build_id) != 0 ? -ESTALE : 0;
	return candidate->way >= BY_PATH && !parser_crc(debugfiles->parser, key, fd, &crc) &&
			       crc == elf->debuglink_crc
		       ? 0
		       : -ESTALE;
}

/* No remote server is asked. */
static bool find_inode(int fd, struct statx *st)
{
	return fd >= 0 && !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, st);
}

/* Is it the file itself, which names what it can already? */
static bool is_itself(const struct debugfiles *debugfiles, uint32_t file, int fd)
{
	int own = debugfiles->files.fd(debugfiles->files.ctx, file);
	struct statx st, own_st;

	return find_inode(own, &own_st) && find_inode(fd, &st) && st.stx_ino == own_st.stx_ino &&
	       st.stx_dev_major == own_st.stx_dev_major && st.stx_dev_minor == own_st.stx_dev_minor;
}

static void tell_refused(const struct debugfiles *debugfiles, const char *path, int why)
{
	const struct codefiles *files = &debugfiles->files;

	if (files->refused && why != -ENOENT && why != -ENOTDIR)
		files->refused(files->ctx, path, why);
}

static const struct fetched *find_fetched(const struct debugfiles *debugfiles, const char *build_id)
{
	vec_for_each(&debugfiles->fetched, fetched)
		if (!strcmp(fetched->build_id, build_id))
			return fetched;
	return NULL;
}

int debugfiles_fetch(struct debugfiles *debugfiles, const char *build_id)
{
	const struct fetched *known = find_fetched(debugfiles, build_id);
	struct fetched fetched = {.fd = -1};
	int fd;

	if (!known && (!debugfiles->dirs.fetcher || !is_build_id(build_id) ||
		       debugfiles->fetched.nr == MAX_FETCHED))
		return -ENOENT;
	if (!known) {
		strcpy(fetched.build_id, build_id);
		fetched.fd = fetcher_fetch(debugfiles->dirs.fetcher, build_id);
		vec_push(&debugfiles->fetched, fetched);
		known = &debugfiles->fetched.at[debugfiles->fetched.nr - 1];
	}
	fd = known->fd < 0 ? -1 : fcntl(known->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -ENOENT : fd;
}

static bool is_fetched(const struct debugfiles *debugfiles, uint32_t file)
{
	const struct codefiles *files = &debugfiles->files;

	return files->is_fetched && files->is_fetched(files->ctx, file);
}

/* The same of what a server sent. */
static int try_fetching(struct debugfiles *debugfiles, const struct reply_file *elf, uint32_t key)
{
	const struct reply_file *debug;
	bool is_new = !find_fetched(debugfiles, elf->build_id);
	int fd = debugfiles_fetch(debugfiles, elf->build_id);

	if (fd < 0)
		return -ENOENT;
	debug = parser_file(debugfiles->parser, key, fd);
	if (debug && !strcmp(debug->build_id, elf->build_id))
		return fd;
	if (is_new)
		fetcher_refuse(debugfiles->dirs.fetcher);
	closep(&fd);
	return -ENOENT;
}

/* A descriptor of what is there, if that belongs to the file. */
static int try_candidate(struct debugfiles *debugfiles, uint32_t file, const struct reply_file *elf,
			 uint32_t i, uint32_t *key)
{
	struct debugfile_place at;
	struct candidate candidate;
	int fd scoped(closep) = -1;
	int err, found;

	*key = DEBUGFILE_KEY | i << CANDIDATE_SHIFT | file;
	if (!candidate_at(debugfiles, i, &candidate))
		return -ENOENT;
	if (candidate.way == BY_FETCHING && is_fetched(debugfiles, file))
		return -ENOENT;
	if (candidate.way == BY_FETCHING)
		return try_fetching(debugfiles, elf, *key);
	if (!find_candidate(debugfiles, file, elf, &candidate, &at))
		return -ENOENT;
	fd = debugfiles_open_place(debugfiles, file, &at);
	if (fd >= 0 && is_itself(debugfiles, file, fd))
		return -ENOENT;
	err = fd < 0 ? fd : check_whose(debugfiles, elf, &candidate, *key, fd);
	if (err) {
		tell_refused(debugfiles, at.path, err);
		return -ENOENT;
	}
	found = fd;
	fd = -1;
	return found;
}

static int look_everywhere(struct debugfiles *debugfiles, uint32_t file,
			   const struct reply_file *elf, uint32_t *candidate, uint32_t *key)
{
	struct candidate ignored;

	for (*candidate = 0; candidate_at(debugfiles, *candidate, &ignored); (*candidate)++) {
		int fd = try_candidate(debugfiles, file, elf, *candidate, key);

		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

int debugfiles_open(struct debugfiles *debugfiles, uint32_t file, uint32_t *key)
{
	const struct reply_file *elf;
	uint32_t candidate;
	int fd;

	if (file >= FILES_MAX_KNOWN || !parser_knows(debugfiles->parser, file))
		return -ENOENT;
	while (debugfiles->candidates.nr <= file)
		vec_push(&debugfiles->candidates, CANDIDATE_UNKNOWN);
	elf = parser_file(debugfiles->parser, file, -1);
	candidate = debugfiles->candidates.at[file];
	if (!elf || candidate == CANDIDATE_NONE)
		return -ENOENT;
	if (candidate != CANDIDATE_UNKNOWN)
		return try_candidate(debugfiles, file, elf, candidate - 1, key);
	fd = look_everywhere(debugfiles, file, elf, &candidate, key);
	debugfiles->candidates.at[file] = fd < 0 ? CANDIDATE_NONE : candidate + 1;
	return fd;
}
