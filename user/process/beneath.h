/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a file below a process's root folder, by a path that the process may have chosen.
 *
 * No symbolic link is followed, not even in the middle of the path: an absolute one would lead out of the process's root
 * to a file of the host. Nothing but a regular file is opened (process/vetted.h).
 */
#ifndef CPROF_PROCESS_BENEATH_H
#define CPROF_PROCESS_BENEATH_H

#include <stdint.h>

/*
 * A descriptor for reading that the caller owns. Where the process is gone or there is nothing, it is of the file below the
 * host's root: most processes have that one, and of those that called chroot(2) the kernel tells paths from there. Who uses it
 * has to check that it is the right file. path begins with a slash. -ENOENT: it is not there, or the path has a ".." in it;
 * -ELOOP, -ENOTDIR: a symbolic link is in the way; others as of vetted_open().
 */
int beneath_open(const char *proc_root, uint32_t tgid, const char *path);

/*
 * The perf map of a process: /tmp/perf-PID.map below its root, where PID is its number in its own PID namespace. -EPERM: it
 * belongs to
 * another user, neither the process's nor root; -ESRCH: there is no such process.
 */
int beneath_open_perf_map(const char *proc_root, uint32_t tgid);

#endif
