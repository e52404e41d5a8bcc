/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files behind the targets' mappings: one vetted descriptor for each distinct file.
 *
 * So a binary that is unlinked or replaced, or whose process exits, keeps its names.
 *
 * Descriptors are few: when all are in use, that of the file which was not met or read for the longest time is closed,
 * one that was never read first. It is opened again when it is needed, in the same ways (process/openmapped.h), and must
 * then be the same file: device, inode, size and time of the last change. A file that was deleted meanwhile stays closed,
 * and files_why() says so.
 */
#ifndef CPROF_PROCESS_FILES_H
#define CPROF_PROCESS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

/* Most descriptors held, and never more than half of RLIMIT_NOFILE, which the caller raises. */
#define FILES_MAX_OPEN 16384
/* Most bytes of files on FUSE, which are copied to memory (process/filecopy.h). */
#define FILES_MAX_COPIED_BYTES (128ull << 20)
/* Most files known, and the bytes of their paths; a mapping of a further one has no file (FILE_NONE). */
#define FILES_MAX_KNOWN	     262144
#define FILES_MAX_PATH_BYTES (32u << 20)

struct files;
struct opener; /* process/opener.h */

/* proc_root is "/proc", or a folder that looks like it (tests). Borrowed until files_free(). */
struct files *files_new(const char *proc_root);
/* Has the opener open files from now on; without one (--no-sandbox) this process does. Borrowed until files_free(). */
void files_set_opener(struct files *files, struct opener *opener);
/* NULL: there is none. */
struct opener *files_opener(const struct files *files);
/* Holds at most nr descriptors from now on; nr > 0. */
void files_limit(struct files *files, size_t nr);
/* fn is called just before the descriptor of a file is closed, except by files_free(). */
void files_on_close(struct files *files, void (*fn)(void *ctx, uint32_t file), void *ctx);
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

/*
 * The descriptor, opened again if need be; -1 if that fails, or if the file was overwritten since it was first opened: what
 * is in it now is not what was read of it before. Borrowed until the next call for any file.
 */
int files_fd(struct files *files, uint32_t file);
/*
 * Why it is not open: 0 or -errno (-ENOTSUP: not a regular file, or an empty one as those of /proc;
 * -EFBIG; -ESTALE: another file; -EMFILE: too many are open; -ETIME: time was up, see files_until(); -ETIMEDOUT: no answer).
 */
int files_error(const struct files *files, uint32_t file);
/* The same in words, as "Too many open files" or "deleted or replaced after it was closed"; "" if it is open. Not owned. */
const char *files_why(const struct files *files, uint32_t file);
/* Is its descriptor, as it was when it was last open, that of a copy in memory? Nobody executes that. */
bool files_is_copy(const struct files *files, uint32_t file);
/*
 * A descriptor, that the caller owns, of the file at path below the root of the process that had file mapped last: as beneath_open(). Who uses it has to check that it is what it should be.
 */
int files_beneath(struct files *files, uint32_t file, const char *path);
/* How many mappings have no file because too many files are known. */
uint64_t files_nr_refused(const struct files *files);
/* The path it was first seen under, in its process's namespace, " (deleted)" removed. */
const char *files_path(const struct files *files, uint32_t file);
/* How many files are not open because permission was denied on one of the ways to them. */
size_t files_nr_forbidden(const struct files *files);
/* The number of files known; indices are 0 to files_nr() - 1. */
size_t files_nr(const struct files *files);

/* The length of path without the " (deleted)" that the kernel appends for an unlinked file. */
size_t path_len_undeleted(const char *path);

#endif
