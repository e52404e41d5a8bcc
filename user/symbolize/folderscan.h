/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists the regular files below a folder: those in which a debug file may be, whatever it is called.
 *
 * Bounded in entries, files and depth. Symbolic links are not followed: below .build-id they lead to files that are listed
 * anyway, and elsewhere they could lead around in circles. Nothing is opened but folders.
 */
#ifndef CPROF_SYMBOLIZE_FOLDERSCAN_H
#define CPROF_SYMBOLIZE_FOLDERSCAN_H

#include <stdbool.h>

#define FOLDERSCAN_MAX_ENTRIES 65536
#define FOLDERSCAN_MAX_DEPTH   16

/* Called with each file's path, borrowed. False: enough. */
typedef bool (*folderscan_fn)(void *ctx, const char *path);

/* What cannot be read is skipped. False: a bound was reached, so that there may be more files. */
bool folderscan(const char *folder, folderscan_fn fn, void *ctx);

#endif
