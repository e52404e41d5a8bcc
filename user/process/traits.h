/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads from /proc/PID what processes are chosen by (executable, user, cgroup) and how their time was spent.
 *
 * proc_root is "/proc" or a folder that looks like it (tests). Every call reads anew. All return -ESRCH where
 * there is no such process.
 */
#ifndef CPROF_PROCESS_TRAITS_H
#define CPROF_PROCESS_TRAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path of its executable, without the kernel's " (deleted)". -ENAMETOOLONG: longer than path_bytes. */
int traits_exe(const char *proc_root, uint32_t tgid, char *path, size_t path_bytes);

/* Its effective user id. -EINVAL: not a status file. */
int traits_uid(const char *proc_root, uint32_t tgid, uint32_t *uid);

/*
 * Calls matches() with the path of each cgroup it is in (one for each hierarchy), until that returns
 * true. 1: one matched, 0: none did, or -errno.
 */
int traits_cgroup(const char *proc_root, uint32_t tgid,
		  bool (*matches)(const void *ctx, const char *path), const void *ctx);

/* The time that all its threads have spent since they began (at most 1024 threads are read). */
struct traits_time {
	uint64_t run_ns; /* on a CPU */
	uint64_t
		wait_ns; /* runnable, and waiting for one; a wait that goes on is in it once it is over */
	uint64_t nr_sleeps;
	bool is_runnable; /* one of them is on a CPU, or waits for one */
};

/* Sums *time over the threads of tgid. -errno; *time is untouched then. */
int traits_time(const char *proc_root, uint32_t tgid, struct traits_time *time);

#endif
