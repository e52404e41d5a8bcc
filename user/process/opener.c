// SPDX-License-Identifier: BSD-2-Clause
/*
 * Three ways to a file, from certain to likely; each is vetted before anything is opened for
 * reading, and none of the steps can block on what the target put there: O_PATH opens nothing,
 * AT_STATX_DONT_SYNC asks no remote server, and O_NONBLOCK opens past a file lease that the target holds.
 *
 * Not against it: openat2(RESOLVE_IN_ROOT) under /proc/PID/root. The path of a mapping is canonical, so
 * where a symlink leads somewhere else it was put there since, and device and inode tell.
 */
#include "process/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"
#include "process/mapping.h"

struct inode_id {
	uint32_t dev_major, dev_minor;
	uint64_t inode; /* 0: any */
};

/* Is it the inode that was asked for? */
typedef bool (*is_expected_fn)(const struct statx *st, const struct inode_id *expected);

struct file {
	struct inode_id id;
	char *path; /* owned */
	int fd;	    /* -1: not open, because of error */
	int error;
	bool is_refused; /* map_files itself led to nothing to be opened: it will not again */
};

struct files {
	const char *proc_root; /* borrowed */
	vec_of(struct file) all;
	size_t nr_open;
	bool (*enough)(void *ctx); /* NULL: never */
	void *enough_ctx;
	struct hash by_id; /* positions in all */
};

struct files *files_new(const char *proc_root)
{
	struct files *files = xcalloc(1, sizeof(*files));

	files->proc_root = proc_root;
	return files;
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
	hash_release(&files->by_id);
	free(files);
}

size_t path_len_undeleted(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(path), mark_len = sizeof(mark) - 1;

	return len > mark_len && !strcmp(path + len - mark_len, mark) ? len - mark_len : len;
}

static bool is_same(const struct statx *st, const struct inode_id *expected)
{
	return !expected->inode ||
	       (st->stx_ino == expected->inode && st->stx_dev_major == expected->dev_major &&
		st->stx_dev_minor == expected->dev_minor);
}

/*
 * For map_files, which leads to the right file unless another was mapped at the same place since.
 * overlayfs (xino) adds the number of the layer to an inode's number, in its high bits.
 */
static bool is_same_number(const struct statx *st, const struct inode_id *expected)
{
	return (uint32_t)st->stx_ino == (uint32_t)expected->inode;
}

/* A descriptor for reading of what path_fd (an O_PATH one) stands for, or -errno. */
static int reopen_regular(int path_fd, const struct inode_id *expected, is_expected_fn is_expected)
{
	char self[64];
	struct statx st;
	int fd;

	if (statx(path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_SIZE | STATX_INO, &st))
		return -errno;
	if (!is_expected(&st, expected))
		return -ESTALE;
	if (!S_ISREG(st.stx_mode) || !st.stx_size)
		return -ENOTSUP;
	if (st.stx_size > FILES_MAX_BYTES)
		return -EFBIG;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_vetted(const char *path, const struct inode_id *expected,
		       is_expected_fn is_expected)
{
	int path_fd scoped(closep) = open(path, O_PATH | O_CLOEXEC);

	return path_fd < 0 ? -errno : reopen_regular(path_fd, expected, is_expected);
}

int file_open_vetted(const char *path, uint32_t dev_major, uint32_t dev_minor, uint64_t inode)
{
	return open_vetted(path, &(struct inode_id){dev_major, dev_minor, inode}, is_same);
}

/* id: whose folder in /proc to look in. */
static int open_mapped(const struct files *files, uint32_t id, const struct map_event *map,
		       struct file *file)
{
	char link[PATH_MAX];
	int len, fd;

	len = snprintf(link, sizeof(link), "%s/%u/map_files/%lx-%lx", files->proc_root, id,
		       (unsigned long)map->start, (unsigned long)map->limit);
	fd = len < (int)sizeof(link) ? open_vetted(link, &file->id, is_same_number) : -ENAMETOOLONG;
	file->is_refused = fd == -ENOTSUP || fd == -EFBIG;
	if (fd >= 0 || file->is_refused || file->path[0] != '/')
		return fd;
	len = snprintf(link, sizeof(link), "%s/%u/root%s", files->proc_root, id, file->path);
	fd = len < (int)sizeof(link) ? open_vetted(link, &file->id, is_same) : -ENAMETOOLONG;
	return fd >= 0 ? fd : open_vetted(file->path, &file->id, is_same);
}

static bool same_inode(const void *ctx, uint32_t value, const void *key)
{
	const struct files *files = ctx;
	const struct inode_id *a = &files->all.at[value].id, *b = key;

	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

static uint32_t find_or_add(struct files *files, const struct map_event *map)
{
	const struct inode_id id = {map->dev_major, map->dev_minor, map->inode};
	uint64_t code = hash_combine((uint64_t)id.dev_major << 32 | id.dev_minor, id.inode);
	uint32_t i = hash_find(&files->by_id, code, same_inode, files, &id);
	struct file file = {.id = id, .fd = -1, .error = -ENOENT};

	if (i != HASH_NONE || files->all.nr >= FILES_MAX_KNOWN)
		return i;
	file.path = xstrdup(map->path);
	file.path[path_len_undeleted(map->path)] = '\0';
	i = files->all.nr;
	vec_push(&files->all, file);
	hash_insert(&files->by_id, code, i);
	return i;
}

static int open_if_possible(struct files *files, uint32_t tgid, const struct map_event *map,
			    struct file *file)
{
	if (files->nr_open >= FILES_MAX_OPEN)
		return -EMFILE;
	if (files->enough && files->enough(files->enough_ctx))
		return -ETIME;
	return open_mapped(files, tgid, map, file);
}

uint32_t files_of(struct files *files, uint32_t tgid, const struct map_event *map)
{
	struct file *file;
	uint32_t i;
	int fd;

	_Static_assert(HASH_NONE == FILE_NONE, "what is not found is no file");
	if (!map->inode)
		return FILE_NONE;
	i = find_or_add(files, map);
	if (i == FILE_NONE)
		return FILE_NONE;
	file = &files->all.at[i];
	if (file->fd >= 0 || file->is_refused)
		return i;
	fd = open_if_possible(files, tgid, map, file);
	file->error = fd < 0 ? fd : 0;
	if (fd < 0)
		return i;
	file->fd = fd;
	files->nr_open++;
	return i;
}

int files_fd(const struct files *files, uint32_t file)
{
	return file < files->all.nr ? files->all.at[file].fd : -1;
}

int files_error(const struct files *files, uint32_t file)
{
	return file < files->all.nr ? files->all.at[file].error : -ENOENT;
}

const char *files_path(const struct files *files, uint32_t file)
{
	return file < files->all.nr ? files->all.at[file].path : "";
}

size_t files_nr(const struct files *files)
{
	return files->all.nr;
}
