// SPDX-License-Identifier: BSD-2-Clause
/*
 * A list of the files that are open, in the order of their use, and an index by device and inode of all that are known.
 *
 * An open descriptor keeps the number of its inode from being used again; once it is closed to make room, another file
 * may have the number. Such a file gets an index of its own, since names and unwind tables are kept by index.
 */
#include "process/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/lru.h"
#include "base/vec.h"
#include "process/fileerror.h"
#include "process/beneath.h"
#include "process/mapping.h"
#include "process/opener.h"

#define MAX_STALLS \
	2 /* one may have been its process's fault: map_files waits for the lock of its mappings */

/* Files that were only met are closed before those that somebody has read: their names may be wanted again. */
enum {
	LIST_MET,
	LIST_WANTED,
	LIST_COPIES, /* in memory, of either */
	NR_LISTS
};

struct file {
	struct inode_id id;
	char *path;    /* owned */
	uint32_t tgid; /* who had it mapped when it was met the last time, and where */
	uint64_t start, limit;
	uint64_t size; /* when it was first opened, so that it is known again */
	struct statx_timestamp modified;
	int fd; /* -1: not open, because of error unless it was closed to make room */
	int error;
	uint8_t nr_stalls; /* how often a try to open it got no answer */
	bool is_refused; /* it will not be opened: map_files itself led to nothing, or no answer came */
	bool was_open;	     /* size and modified are valid */
	bool was_wanted;     /* somebody has read it */
	bool is_copy;	     /* the descriptor is of a copy */
	bool is_other;	     /* what has its inode now is another file */
	bool is_overwritten; /* ... because its bytes were changed in place */
	bool is_forbidden;   /* permission was denied on one of the ways to it */
};

struct files {
	const char *proc_root; /* borrowed */
	struct opener *opener; /* borrowed; NULL: there is none */
	vec_of(struct file) all;
	size_t nr_open, max_open, path_bytes;
	uint64_t copied_bytes;	   /* of the copies that are open */
	struct lru open[NR_LISTS]; /* positions in all */
	uint64_t nr_refused;
	bool (*enough)(void *ctx); /* NULL: never */
	void *enough_ctx;
	void (*on_close)(void *ctx, uint32_t file); /* NULL: nobody asks */
	void *on_close_ctx;
	struct hash by_id; /* positions in all */
};

/* The other half is for what else cprof opens: BPF, perf events, probes. */
static size_t most_open(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 2 > FILES_MAX_OPEN)
		return FILES_MAX_OPEN;
	return limit.rlim_cur > 2 ? limit.rlim_cur / 2 : 1;
}

struct opener *files_opener(const struct files *files)
{
	return files->opener;
}

void files_set_opener(struct files *files, struct opener *opener)
{
	files->opener = opener;
}

struct files *files_new(const char *proc_root)
{
	struct files *files = xcalloc(1, sizeof(*files));

	files->proc_root = proc_root;
	files->max_open = most_open();
	return files;
}

void files_on_close(struct files *files, void (*fn)(void *ctx, uint32_t file), void *ctx)
{
	files->on_close = fn;
	files->on_close_ctx = ctx;
}

void files_until(struct files *files, bool (*enough)(void *ctx), void *ctx)
{
	files->enough = enough;
	files->enough_ctx = ctx;
}

void files_free(struct files *files)
{
	if (!files)
		return;
	vec_for_each(&files->all, file) {
		closep(&file->fd);
		free(file->path);
	}
	vec_release(&files->all);
	for (int i = 0; i < NR_LISTS; i++)
		lru_release(&files->open[i]);
	hash_release(&files->by_id);
	free(files);
}

size_t path_len_undeleted(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(path), mark_len = sizeof(mark) - 1;

	return len > mark_len && !strcmp(path + len - mark_len, mark) ? len - mark_len : len;
}

/* Open descriptors ----------------------------------------------------------------------------- */

static struct lru *list_of(struct files *files, uint32_t i)
{
	const struct file *file = &files->all.at[i];

	return &files->open[file->is_copy      ? LIST_COPIES
			    : file->was_wanted ? LIST_WANTED
					       : LIST_MET];
}

/* An open file is met or wanted now. */
static void touch(struct files *files, uint32_t i, bool is_wanted)
{
	lru_remove(list_of(files, i), i);
	files->all.at[i].was_wanted |= is_wanted;
	lru_push(list_of(files, i), i);
}

static void close_file(struct files *files, uint32_t i)
{
	struct file *file = &files->all.at[i];

	if (files->on_close)
		files->on_close(files->on_close_ctx, i);
	lru_remove(list_of(files, i), i);
	closep(&file->fd);
	file->fd = -1;
	files->nr_open--;
	if (file->is_copy)
		files->copied_bytes -= file->size;
}

static void close_oldest(struct files *files)
{
	uint32_t i = LRU_NONE;

	for (int list = 0; list < NR_LISTS && i == LRU_NONE; list++)
		i = lru_oldest(&files->open[list]);
	close_file(files, i);
}

void files_limit(struct files *files, size_t nr)
{
	files->max_open = nr;
	while (files->nr_open > nr)
		close_oldest(files);
}

/* Opening ---------------------------------------------------------------------------------------- */

/* Is it the file that was open before? The number of an inode is used again soon after a file is deleted. */
static bool is_unchanged(struct file *file, int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE | STATX_MTIME, &st))
		return false;
	if (!file->was_open) {
		file->size = st.stx_size;
		file->modified = st.stx_mtime;
		file->was_open = true;
		return true;
	}
	return file->size == st.stx_size && file->modified.tv_sec == st.stx_mtime.tv_sec &&
	       file->modified.tv_nsec == st.stx_mtime.tv_nsec;
}

/* Opens the file through the process that mapped it last. */
static int open_mapped(const struct files *files, struct file *file)
{
	const struct mapped_file mapped = {file->tgid, file->start, file->limit, file->id,
					   file->path};
	struct mapped_ways ways;
	int fd = files->opener ? opener_file(files->opener, &mapped, &ways)
			       : mapped_open(files->proc_root, &mapped, &ways);

	file->nr_stalls += ways.has_stalled;
	file->is_refused = ways.is_refused || file->nr_stalls >= MAX_STALLS;
	file->is_forbidden |= ways.is_forbidden;
	file->is_copy = ways.is_copy;
	return fd;
}

/* Opens the file, closing others first if needed. Lowers the limit as long as the process has too many open files. */
static int open_with_room(struct files *files, struct file *file)
{
	int fd;

	if (files->enough && files->enough(files->enough_ctx))
		return -ETIME;
	while (files->nr_open >= files->max_open)
		close_oldest(files);
	fd = open_mapped(files, file);
	while (fd == -EMFILE && files->nr_open > 1) {
		files_limit(files, (files->nr_open + 1) / 2);
		fd = open_mapped(files, file);
	}
	return fd;
}

/* One more copy, of so many bytes, which is in no list yet: older ones make room for it. */
static void note_copy(struct files *files, uint64_t bytes)
{
	files->copied_bytes += bytes;
	while (files->copied_bytes > FILES_MAX_COPIED_BYTES &&
	       lru_oldest(&files->open[LIST_COPIES]) != LRU_NONE)
		close_file(files, lru_oldest(&files->open[LIST_COPIES]));
}

/* Opens a file that is not open. -ESTALE: it is another one now. */
static void open_file(struct files *files, uint32_t i)
{
	struct file *file = &files->all.at[i];
	int fd = open_with_room(files, file);

	if (fd >= 0 && !is_unchanged(file, fd)) {
		close(fd);
		fd = -ESTALE;
		file->is_other = true;
	}
	file->error = fd < 0 ? fd : 0;
	if (fd < 0)
		return;
	file->fd = fd;
	files->nr_open++;
	if (file->is_copy)
		note_copy(files, file->size);
	lru_push(list_of(files, i), i);
}

static struct inode_id id_of(const struct map_event *map)
{
	return (struct inode_id){map->dev_major, map->dev_minor, map->inode};
}

static uint64_t code_of(const struct inode_id *id)
{
	return hash_combine((uint64_t)id->dev_major << 32 | id->dev_minor, id->inode);
}

static bool same_inode(const void *ctx, uint32_t value, const void *key)
{
	const struct files *files = ctx;
	const struct inode_id *a = &files->all.at[value].id, *b = key;

	return !files->all.at[value].is_other && a->inode == b->inode &&
	       a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

static uint32_t add_file(struct files *files, const struct map_event *map)
{
	struct file file = {.id = id_of(map), .fd = -1, .error = -ENOENT};
	size_t len = path_len_undeleted(map->path);
	uint32_t i = files->all.nr;

	if (i >= FILES_MAX_KNOWN || files->path_bytes + len > FILES_MAX_PATH_BYTES) {
		files->nr_refused++;
		return FILE_NONE;
	}
	file.path = xstrdup(map->path);
	file.path[len] = '\0';
	files->path_bytes += len;
	vec_push(&files->all, file);
	hash_insert(&files->by_id, code_of(&file.id), i);
	return i;
}

/* Opens the file behind map, where it was met now; its index. */
static uint32_t meet(struct files *files, uint32_t i, uint32_t tgid, const struct map_event *map)
{
	struct file *file = &files->all.at[i];

	file->tgid = tgid;
	file->start = map->start;
	file->limit = map->limit;
	if (file->fd >= 0)
		touch(files, i, false);
	else if (!file->is_refused)
		open_file(files, i);
	return i;
}

uint32_t files_of(struct files *files, uint32_t tgid, const struct map_event *map)
{
	const struct inode_id id = id_of(map);
	uint32_t i;

	_Static_assert(HASH_NONE == FILE_NONE, "what is not found is no file");
	if (!map->inode)
		return FILE_NONE;
	i = hash_find(&files->by_id, code_of(&id), same_inode, files, &id);
	if (i != FILE_NONE) {
		meet(files, i, tgid, map);
		if (!files->all.at[i].is_other)
			return i;
	}
	i = add_file(files, map);
	return i == FILE_NONE ? i : meet(files, i, tgid, map);
}

int files_fd(struct files *files, uint32_t i)
{
	struct file *file;

	if (i >= files->all.nr)
		return -1;
	file = &files->all.at[i];
	if (file->fd < 0 && !file->error) /* it was closed to make room */
		open_file(files, i);
	if (file->fd >= 0 && !is_unchanged(file, file->fd)) {
		close_file(files, i);
		file->error = -ESTALE;
		file->is_other = file->is_overwritten = true;
	}
	if (file->fd >= 0)
		touch(files, i, true);
	return file->fd;
}

int files_error(const struct files *files, uint32_t file)
{
	return file < files->all.nr ? files->all.at[file].error : -ENOENT;
}

const char *files_why(const struct files *files, uint32_t i)
{
	struct file_state state = {.error = files_error(files, i)};

	if (i < files->all.nr) {
		state.was_open = files->all.at[i].was_open;
		state.is_overwritten = files->all.at[i].is_overwritten;
	}
	return file_error_words(&state);
}

uint64_t files_nr_refused(const struct files *files)
{
	return files->nr_refused;
}

bool files_is_copy(const struct files *files, uint32_t file)
{
	return file < files->all.nr && files->all.at[file].is_copy;
}

const char *files_path(const struct files *files, uint32_t file)
{
	return file < files->all.nr ? files->all.at[file].path : "";
}

size_t files_nr_forbidden(const struct files *files)
{
	size_t nr = 0;

	vec_for_each(&files->all, file)
		nr += file->error && file->is_forbidden;
	return nr;
}

size_t files_nr(const struct files *files)
{
	return files->all.nr;
}

int files_beneath(struct files *files, uint32_t file, const char *path)
{
	uint32_t tgid;

	if (file >= files->all.nr)
		return -ENOENT;
	tgid = files->all.at[file].tgid;
	return files->opener ? opener_beneath(files->opener, tgid, path)
			     : beneath_open(files->proc_root, tgid, path);
}
