/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Views of files: their bytes where the kernel keeps them, read-only, not in memory of this process's own.
 *
 * The owner of the file can make it shorter while there is a view of it, and the next access to the lost pages raises
 * SIGBUS. So there are views only in a process that called fileview_guard(), whose handler puts zeros in the place of what
 * is lost. The owner can also write to it: a second read of a view may give other bytes than the first.
 */
#ifndef CPROF_BASE_FILEVIEW_H
#define CPROF_BASE_FILEVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Handles SIGBUS from now on, which must not be blocked. To be called before fileview_open(), by a process that has one thread
 * that uses views. -errno.
 */
int fileview_guard(void);

/*
 * The len_bytes bytes at off of a file, which are in it now. The view stays when fd is closed. NULL: there can be none
 * (nobody guards it, there are too many, the file system has none), and they should be read instead.
 */
const void *fileview_open(int fd, uint64_t off, size_t len_bytes);
/* bytes and len_bytes: of fileview_open(). */
void fileview_close(const void *bytes, size_t len_bytes);

#endif
