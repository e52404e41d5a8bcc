// SPDX-License-Identifier: BSD-2-Clause
/*
 * The files of this machine that a profile's mappings are of, found by build-id.
 *
 * Each path that is tried gets a number, by which the parser remembers what it read of it. One descriptor is open at a time: a
 * profile may name very many files. Opened again, a file must be the same inode, unchanged.
 *
 * The folders are searched once, at the first build-id that is not found under its own name; each ELF file in them is
 * asked for its build-id then. What a server sent has no path: its descriptor is kept, for as long as the others.
 * Alternative rejected: to read the note here, without the parser. It is little code, but those are bytes that somebody
 * else wrote.
 */
#include "symbolize/localfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "process/files.h"
#include "process/vetted.h"
#include "symbolize/folderscan.h"

#define PREFIX_DIGITS 2 /* of a build-id: the name of a folder */
#define MIN_DIGITS    8
#define MAX_REFUSALS  64
#define MAX_FETCHED \
	400 /* each has a descriptor, as those have that symbolize/debugfile.h fetches */

_Static_assert(LOCALFILES_MAX <= FILES_MAX_KNOWN, "each has a key of the parser");

struct localfile {
	char *path;
	int fetched; /* a server sent it: its descriptor, owned; -1: it is at path */
	bool was_opened;
	struct stat first; /* what it was when it was opened first */
};

struct localfiles {
	struct parser *parser;
	struct debugfile_dirs dirs;
	vec_of(struct localfile) files;
	vec_of(struct localfile_refusal) refusals;
	struct strtab questions;     /* BUILD_ID:PATH */
	vec_of(uint32_t) answers;    /* of these, by id - 1: files */
	struct strtab fetched;	     /* what servers were asked for */
	vec_of(uint32_t) fetched_as; /* the same of these */
	size_t nr_fetched;	     /* of files */
	uint32_t open_file;	     /* the one that is open */
	int fd;
	uint32_t first_scanned, nr_scanned;
	bool is_scanned, is_cut;
};

/* The places for a build-id below a folder: ab, cdef.... */
static const char *const places[] = {
	"%s/.build-id/%.2s/%s",
	"%s/.build-id/%.2s/%s.debug",
	"%s/.build-id/%.2s/%s/elf",
	"%s/%.2s/%s.debug",
};

#define NR_PLACES (sizeof(places) / sizeof(places[0]))

struct localfiles *localfiles_new(struct parser *parser, struct debugfile_dirs dirs)
{
	struct localfiles *files = xcalloc(1, sizeof(*files));

	files->parser = parser;
	files->dirs = dirs;
	files->fd = -1;
	files->open_file = FILE_NONE;
	return files;
}

void localfiles_free(struct localfiles *files)
{
	if (!files)
		return;
	vec_for_each(&files->files, file) {
		free(file->path);
		closep(&file->fetched);
	}
	vec_for_each(&files->refusals, refusal)
		free(refusal->path);
	vec_release(&files->files);
	vec_release(&files->refusals);
	vec_release(&files->answers);
	strtab_release(&files->questions);
	vec_release(&files->fetched_as);
	strtab_release(&files->fetched);
	closep(&files->fd);
	free(files);
}

/* Opening ----------------------------------------------------------------------------------------- */

static int open_path(const char *path)
{
	return vetted_open(path, &(struct inode_id){0}, VETTED_SAME);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Its descriptor, owned by the caller; -errno; -ESTALE: it is another file by now. */
static int open_file(struct localfile *file)
{
	int fd = file->fetched < 0 ? open_path(file->path)
				   : fcntl(file->fetched, F_DUPFD_CLOEXEC, 0);
	struct stat now;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &now) && (!file->was_opened || is_same(&now, &file->first))) {
		file->first = now;
		file->was_opened = true;
		return fd;
	}
	close(fd);
	return -ESTALE;
}

/* Opens it as the one that is open. 0 or -errno. */
static int use(struct localfiles *files, uint32_t number)
{
	int fd;

	if (number == files->open_file)
		return 0;
	closep(&files->fd);
	files->open_file = FILE_NONE;
	fd = files->fd = open_file(&files->files.at[number]);
	if (fd < 0) {
		files->fd = -1;
		return fd;
	}
	files->open_file = number;
	return 0;
}

/* FILE_NONE: there are too many. */
static uint32_t enter(struct localfiles *files, const char *path)
{
	if (files->files.nr == LOCALFILES_MAX)
		return FILE_NONE;
	vec_push(&files->files, (struct localfile){.path = xstrdup(path), .fetched = -1});
	return files->files.nr - 1;
}

static void refuse(void *ctx, const char *path, int why)
{
	struct localfiles *files = ctx;

	vec_for_each(&files->refusals, refusal)
		if (!strcmp(refusal->path, path))
			return;
	if (files->refusals.nr < MAX_REFUSALS)
		vec_push(&files->refusals, (struct localfile_refusal){xstrdup(path), why});
}

static void forget_refusals(struct localfiles *files, size_t nr_kept)
{
	while (files->refusals.nr > nr_kept)
		free(files->refusals.at[--files->refusals.nr].path);
}

/* 0: what is at path is that file, *number. build_id "": any ELF file is. -errno: it is not, which is reported. */
static int try_path(struct localfiles *files, const char *path, const char *build_id,
		    uint32_t *number)
{
	const struct reply_file *elf;
	int err;

	*number = enter(files, path);
	err = *number == FILE_NONE ? -ENOENT : use(files, *number);
	if (err) {
		if (err != -ENOENT && err != -ENOTDIR)
			refuse(files, path, err);
		return err;
	}
	elf = parser_file(files->parser, *number, files->fd);
	err = !elf ? -ENOEXEC : *build_id && strcmp(elf->build_id, build_id) != 0 ? -ESTALE : 0;
	if (err)
		refuse(files, path, err);
	return err;
}

/* Searching --------------------------------------------------------------------------------------- */

static bool see_file(void *ctx, const char *path)
{
	struct localfiles *files = ctx;
	uint32_t number = enter(files, path);

	if (number == FILE_NONE) {
		files->is_cut = true;
		return false;
	}
	files->nr_scanned++;
	return true;
}

static void scan(struct localfiles *files)
{
	if (files->is_scanned)
		return;
	files->is_scanned = true;
	files->first_scanned = files->files.nr;
	for (size_t i = 0; i < files->dirs.nr; i++)
		files->is_cut |= !folderscan(files->dirs.at[i], see_file, files);
}

static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && !memcmp(magic, "\177ELF", 4);
}

static bool has_build_id(struct localfiles *files, uint32_t number, const char *build_id)
{
	const struct reply_file *elf = NULL;

	if (parser_knows(files->parser, number) || (!use(files, number) && is_elf(files->fd)))
		elf = parser_file(files->parser, number, files->fd);
	return elf && !strcmp(elf->build_id, build_id);
}

/* The nr-th file that was found in the search and has that build-id. FILE_NONE: there are no more. */
static uint32_t search(struct localfiles *files, const char *build_id, uint32_t nr)
{
	scan(files);
	for (uint32_t i = 0; *build_id && i < files->nr_scanned; i++)
		if (has_build_id(files, files->first_scanned + i, build_id) && !nr--)
			return files->first_scanned + i;
	return FILE_NONE;
}

/* Finding ----------------------------------------------------------------------------------------- */

static bool is_build_id(const char *text)
{
	size_t len = strlen(text);

	return len >= MIN_DIGITS && len < MESSAGE_BUILD_ID_BYTES &&
	       strspn(text, "0123456789abcdef") == len;
}

/* The folder's i-th place for it. FILE_NONE: it is not there. */
static uint32_t try_place(struct localfiles *files, const char *folder, size_t i,
			  const char *build_id)
{
	char path[PATH_MAX];
	uint32_t number;
	int len =
		snprintf(path, sizeof(path), places[i], folder, build_id, build_id + PREFIX_DIGITS);

	if (len < 0 || (size_t)len >= sizeof(path) || access(path, F_OK))
		return FILE_NONE;
	return try_path(files, path, build_id, &number) ? FILE_NONE : number;
}

static uint32_t find_by_build_id(struct localfiles *files, const char *build_id)
{
	uint32_t number = FILE_NONE;

	for (size_t i = 0; number == FILE_NONE && i < files->dirs.nr * NR_PLACES; i++)
		number = try_place(files, files->dirs.at[i / NR_PLACES], i % NR_PLACES, build_id);
	for (size_t i = 0; number == FILE_NONE && i < NR_PLACES; i++)
		number = try_place(files, DEBUGFILE_FOLDER, i, build_id);
	return number != FILE_NONE ? number : search(files, build_id, 0);
}

/* The file that a server sent for it, asked for once. FILE_NONE: it has none. */
static uint32_t fetch(struct localfiles *files, const char *build_id)
{
	char *name scoped(freep) = xasprintf("debuginfod:%s", build_id);
	uint32_t number = strtab_intern(&files->fetched, name);
	const struct reply_file *elf;
	int fd;

	if (number <= files->fetched_as.nr)
		return files->fetched_as.at[number - 1];
	vec_push(&files->fetched_as, FILE_NONE);
	if (files->nr_fetched == MAX_FETCHED)
		return FILE_NONE;
	fd = fetcher_fetch(files->dirs.fetcher, build_id);
	number = fd < 0 ? FILE_NONE : enter(files, name);
	if (number == FILE_NONE) {
		closep(&fd);
		return FILE_NONE;
	}
	files->files.at[number].fetched = fd;
	files->nr_fetched++;
	elf = use(files, number) ? NULL : parser_file(files->parser, number, files->fd);
	if (elf && !strcmp(elf->build_id, build_id))
		files->fetched_as.at[files->fetched_as.nr - 1] = number;
	else
		fetcher_refuse(files->dirs.fetcher);
	return files->fetched_as.at[files->fetched_as.nr - 1];
}

static uint32_t find(struct localfiles *files, const char *path, const char *build_id)
{
	char *plain scoped(freep) = xasprintf("%.*s", (int)path_len_undeleted(path), path);
	bool is_gone = strlen(plain) < strlen(path);
	size_t nr_refused = files->refusals.nr;
	uint32_t number;

	/* Another file may have taken the place of one that was deleted: only a build-id can tell. */
	if (*plain == '/' && (*build_id || !is_gone) && !try_path(files, plain, build_id, &number))
		return number;
	if (!is_build_id(build_id))
		return FILE_NONE;
	number = find_by_build_id(files, build_id);
	if (number == FILE_NONE && files->dirs.fetcher)
		number = fetch(files, build_id);
	if (number != FILE_NONE) /* what else was there is of no interest */
		forget_refusals(files, nr_refused);
	return number;
}

uint32_t localfiles_find(struct localfiles *files, const char *path, const char *build_id)
{
	char *question scoped(freep) = xasprintf("%s:%s", build_id, path);
	uint32_t id = strtab_intern(&files->questions, question);

	if (id <= files->answers.nr)
		return files->answers.at[id - 1];
	vec_push(&files->answers, find(files, path, build_id));
	return files->answers.at[id - 1];
}

int64_t localfiles_changed_ns(const struct localfiles *files, uint32_t file)
{
	const struct timespec *changed = &files->files.at[file].first.st_ctim;

	return files->files.at[file].was_opened
		       ? changed->tv_sec * (int64_t)NSEC_PER_SEC + changed->tv_nsec
		       : 0;
}

const char *localfiles_path(const struct localfiles *files, uint32_t key)
{
	if (key == PARSER_VDSO)
		return "[vdso]";
	return files->files.at[debugfile_is_key(key) ? debugfile_owner(key) : key].path;
}

size_t localfiles_nr_refused(const struct localfiles *files)
{
	return files->refusals.nr;
}

const struct localfile_refusal *localfiles_refused(const struct localfiles *files, size_t i)
{
	return &files->refusals.at[i];
}

bool localfiles_is_cut(const struct localfiles *files)
{
	return files->is_cut;
}

/* For what names code ------------------------------------------------------------------------------ */

static int fd_of(void *ctx, uint32_t file)
{
	struct localfiles *files = ctx;

	return use(files, file) ? -1 : files->fd;
}

static const char *path_of(const void *ctx, uint32_t file)
{
	return localfiles_path(ctx, file);
}

static int open_chosen(void *ctx, const char *path)
{
	(void)ctx;
	return open_path(path);
}

static int open_beside(void *ctx, uint32_t file, const char *path)
{
	(void)ctx;
	(void)file;
	return open_path(path);
}

static bool search_path(void *ctx, const char *build_id, uint32_t nr, char *path, size_t size)
{
	struct localfiles *files = ctx;
	uint32_t number = search(files, build_id, nr);

	if (number == FILE_NONE)
		return false;
	return (size_t)snprintf(path, size, "%s", files->files.at[number].path) < size;
}

static bool is_fetched(const void *ctx, uint32_t file)
{
	return ((const struct localfiles *)ctx)->files.at[file].fetched >= 0;
}

struct codefiles localfiles_access(struct localfiles *files)
{
	return (struct codefiles){.ctx = files,
				  .fd = fd_of,
				  .path = path_of,
				  .open = open_chosen,
				  .beneath = open_beside,
				  .search = search_path,
				  .is_fetched = is_fetched,
				  .refused = refuse};
}
