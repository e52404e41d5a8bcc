// SPDX-License-Identifier: BSD-2-Clause
/*
 * None of the steps can block on what the target put there: O_PATH opens nothing, AT_STATX_DONT_SYNC asks no remote
 * server, and O_NONBLOCK opens past a file lease that the target holds.
 *
 * Not against it: openat2(RESOLVE_IN_ROOT) under /proc/PID/root. The path of a mapping is canonical, so where a symlink
 * leads somewhere else it was put there since, and device and inode tell.
 */
#include "process/vetted.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"

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

static bool may_be_empty(int path_fd, enum vetted_how how)
{
	struct statfs fs;

	return how == VETTED_GROWING && !fstatfs(path_fd, &fs) && fs.f_type != PROC_SUPER_MAGIC;
}

int vetted_reopen(int path_fd, const struct inode_id *expected, enum vetted_how how)
{
	char self[64];
	struct statx st;
	int fd;

	if (statx(path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_SIZE | STATX_INO, &st))
		return -errno;
	if (how == VETTED_SAME_NUMBER ? !is_same_number(&st, expected) : !is_same(&st, expected))
		return -ESTALE;
	if (!S_ISREG(st.stx_mode) || (!st.stx_size && !may_be_empty(path_fd, how)))
		return -ENOTSUP;
	if (st.stx_size > FILES_MAX_BYTES)
		return -EFBIG;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int vetted_open(const char *path, const struct inode_id *expected, enum vetted_how how)
{
	int path_fd scoped(closep) = open(path, O_PATH | O_CLOEXEC);

	return path_fd < 0 ? -errno : vetted_reopen(path_fd, expected, how);
}

int vetted_path(int fd, char *path, size_t path_bytes)
{
	char self[64];
	struct statx st;
	ssize_t len;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_NLINK, &st))
		return -errno;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	len = readlinkat(AT_FDCWD, self, path, path_bytes);
	if (len < 0)
		return -errno;
	if ((size_t)len >= path_bytes)
		return -ENAMETOOLONG;
	path[len] = '\0';
	return st.stx_nlink && *path == '/' ? 0 : -ENOENT;
}

int file_open_vetted(const char *path, uint32_t dev_major, uint32_t dev_minor, uint64_t inode)
{
	return vetted_open(path, &(struct inode_id){dev_major, dev_minor, inode}, VETTED_SAME);
}
