/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a path that a target chose: nothing is opened for reading before it is known to be a regular file.
 *
 * The path may be a FIFO that never opens, a device, or a symlink out of a container:
 *
 *	open(path, O_PATH)
 *	statx: the inode that is expected, S_ISREG, 0 < size <= FILES_MAX_BYTES
 *	open(/proc/self/fd/N, O_RDONLY|O_NONBLOCK|O_NOCTTY|O_CLOEXEC)
 */
#ifndef CPROF_PROCESS_VETTED_H
#define CPROF_PROCESS_VETTED_H

#include <stddef.h>
#include <stdint.h>

#define FILES_MAX_BYTES (4ull << 30)

struct inode_id {
	uint32_t dev_major, dev_minor;
	uint64_t inode; /* 0: any */
};

enum vetted_how {
	VETTED_SAME,	/* device and inode are those expected */
	VETTED_GROWING, /* as VETTED_SAME; it may still be empty, but for files of /proc */
	VETTED_SAME_NUMBER, /* the lower half of the inode's number is: overlay and btrfs show another device */
};

/*
 * A descriptor for reading that the caller owns, or -errno: -ENOTSUP: not a regular file, or an empty one as those of
 * /proc; -EFBIG; -ESTALE: another inode; others of open().
 */
int vetted_open(const char *path, const struct inode_id *expected, enum vetted_how how);
/* The same of what path_fd, a descriptor of O_PATH, stands for. */
int vetted_reopen(int path_fd, const struct inode_id *expected, enum vetted_how how);
/* The same, of this device and inode. */
int file_open_vetted(const char *path, uint32_t dev_major, uint32_t dev_minor, uint64_t inode);

/* The path of what fd is open on, without a link in it; no file system is asked. -ENOENT: it has none (any more). */
int vetted_path(int fd, char *path, size_t path_bytes);

#endif
