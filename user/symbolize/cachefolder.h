/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The folder of the cache of names: $XDG_CACHE_HOME/cprof, else ~/.cache/cprof, of the user who runs cprof; with sudo, of the
 * user behind it.
 *
 * Root must not be led to another place by that user: the folder is made and opened with his rights (fsuid), no symbolic link is
 * followed, and it must be his and be writable by nobody else. Later, only names in the folder that is open are used.
 */
#ifndef CPROF_SYMBOLIZE_CACHEFOLDER_H
#define CPROF_SYMBOLIZE_CACHEFOLDER_H

#include "output/file.h"

/*
 * Opens the folder, and makes it where it is missing; *path is where it is. Both are the caller's. While the process has one
 * thread, before it gives up powers. -ENOENT: the user has no home; -EPERM: it is not the user's alone; or why it cannot be.
 */
int cachefolder_open(const struct output_owner *owner, int *fd, char **path);

#endif
