/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the files behind a target's mappings, and holds one vetted descriptor for each distinct file.
 *
 * So a binary that is unlinked or replaced, or whose process exits, keeps its names.
 *
 * A target chooses its paths, and a path may be a FIFO that never opens, a device, or a symlink out of a
 * container. So nothing is opened for reading before it is known to be a regular file:
 *
 *	open(/proc/PID/map_files/START-LIMIT, O_PATH)	the kernel's own link to the inode
 *	statx: S_ISREG, 0 < size <= FILES_MAX_BYTES
 *	open(/proc/self/fd/N, O_RDONLY|O_NONBLOCK|O_NOCTTY|O_CLOEXEC)
 *
 * Where the process is gone already or may not be inspected, the path is opened in the same way, first
 * under /proc/PID/root and then on the host, and must have the expected device and inode. Files from
 * map_files are not held to that: on overlay and btrfs, maps shows another device than stat does. For these
 * only the inode number is compared, in case the mapping was replaced since.
 */
#ifndef CPROF_PROCESS_OPENER_H
#define CPROF_PROCESS_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

#define FILES_MAX_BYTES (4ull << 30)
/* Most descriptors held; further files are known but not open. The caller raises RLIMIT_NOFILE. */
#define FILES_MAX_OPEN 16384
/* Most files known; a mapping of a further one has no file (FILE_NONE). */
#define FILES_MAX_KNOWN 65536

struct files;

/* proc_root is "/proc", or a folder that looks like it (tests). Borrowed until files_free(). */
struct files *files_new(const char *proc_root);
/* Once enough() returns true, no more files are opened: they are known by path, with the error -ETIME. */
void files_until(struct files *files, bool (*enough)(void *ctx), void *ctx);
void files_free(struct files *files); /* closes every descriptor; NULL is fine */

/*
 * The index of the file behind a mapping of tgid (or of a thread, where the first one has ended),
 * the same for every mapping of the same device and inode; opened at the first call for it, and
 * tried again at a later call if that failed, unless the file is of a kind that is never opened. No
 * system call where it is open. Where the mapping has no file (inode 0): FILE_NONE.
 */
uint32_t files_of(struct files *files, uint32_t tgid, const struct map_event *map);

/* The descriptor, borrowed until files_free(); -1 if the file is not open. */
int files_fd(const struct files *files, uint32_t file);
/*
 * Why it is not open: 0 or -errno (-ENOTSUP: not a regular file, or an empty one as those of /proc;
 * -EFBIG; -ESTALE: another inode; -EMFILE: too many are open; -ETIME: time was up, see files_until()).
 */
int files_error(const struct files *files, uint32_t file);
/* The path it was first seen under, in its process's namespace, " (deleted)" removed. */
const char *files_path(const struct files *files, uint32_t file);
/* The number of files known; indices are 0 to files_nr() - 1. */
size_t files_nr(const struct files *files);

/* The length of path without the " (deleted)" that the kernel appends for an unlinked file. */
size_t path_len_undeleted(const char *path);

/*
 * Opens path for reading if it is a regular file, vetted with O_PATH first. It must have this device
 * and inode, unless inode is 0. Returns a descriptor that the caller owns, or -errno as above.
 */
int file_open_vetted(const char *path, uint32_t dev_major, uint32_t dev_minor, uint64_t inode);

#endif
