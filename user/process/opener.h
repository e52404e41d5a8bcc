/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns a mapping of a target into a vetted descriptor of the file behind it, and holds one such
 * descriptor for each distinct file, so that a binary that is unlinked, replaced or whose process
 * exits keeps its names.
 *
 * A target chooses its paths, and a path may be a FIFO that never opens, a device, a symlink out of
 * a container. So nothing is opened for reading before it is known to be a regular file:
 *
 *	open(/proc/PID/map_files/START-LIMIT, O_PATH)	the kernel's own link: the very inode
 *	statx: S_ISREG, 0 < size <= FILES_MAX_BYTES
 *	open(/proc/self/fd/N, O_RDONLY|O_NONBLOCK|O_NOCTTY|O_CLOEXEC)
 *
 * Where the process is gone already or may not be looked into, the path is tried, under
 * /proc/PID/root and then on the host, in the same way and with the same device and inode asked for.
 * map_files could not stand that question: on overlay and btrfs, maps shows another device than stat
 * does. There, only the inode number is compared, in case the mapping was replaced since.
 */
#ifndef CPROF_PROCESS_OPENER_H
#define CPROF_PROCESS_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

#define FILES_MAX_BYTES (4ull << 30)
/* Descriptors held at most; further files are known but not open. The caller raises RLIMIT_NOFILE. */
#define FILES_MAX_OPEN 16384
/* Files known at most; what is mapped beyond them counts as no file (FILE_NONE). */
#define FILES_MAX_KNOWN 65536

struct files;

/* proc_root is "/proc", or a folder that looks like it (tests). Borrowed. */
struct files *files_new(const char *proc_root);
/* From when enough() says so on no more are opened: they are known, by path, and not open (-ETIME). */
void files_until(struct files *files, bool (*enough)(void *ctx), void *ctx);
void files_free(struct files *files); /* closes every descriptor; NULL is fine */

/*
 * The index of the file behind a mapping of tgid (or of a thread, where the first one has ended),
 * the same for every mapping of the same device and inode; opened at the first call for it, and
 * tried again at a later call if that failed, unless it is not a file to be opened at all. No system
 * call where it is open. Where the mapping has no file (inode 0): FILE_NONE.
 */
uint32_t files_of(struct files *files, uint32_t tgid, const struct map_event *map);

/* The descriptor, borrowed until files_free(); -1 if the file could not be opened. */
int files_fd(const struct files *files, uint32_t file);
/*
 * Why it could not: 0 or -errno (-ENOTSUP: not a regular file, or an empty one as those of /proc;
 * -EFBIG; -ESTALE: another inode; -EMFILE: too many are open; -ETIME: it came too late).
 */
int files_error(const struct files *files, uint32_t file);
/* The path it was first seen under, in its process's namespace, " (deleted)" removed. */
const char *files_path(const struct files *files, uint32_t file);
size_t files_nr(const struct files *files);

/* The length of path without the " (deleted)" that the kernel adds to an unlinked file's. */
size_t path_len_undeleted(const char *path);

/*
 * Vets a path: O_PATH first, and read access only to a regular file. dev_major/minor and inode are
 * compared unless inode is 0. Returns a descriptor that the caller owns, or -errno as above.
 */
int file_open_vetted(const char *path, uint32_t dev_major, uint32_t dev_minor, uint64_t inode);

#endif
