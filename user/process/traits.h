/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * By what a process may be chosen, and how its time went, as /proc/PID has it. proc_root is "/proc" or a
 * folder made to look like it. Everything is read anew at each call; -ESRCH: there is no such process.
 */
#ifndef CPROF_PROCESS_TRAITS_H
#define CPROF_PROCESS_TRAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path of its executable, without the kernel's " (deleted)". -ENAMETOOLONG: it is longer. */
int traits_exe(const char *proc_root, uint32_t tgid, char *path, size_t path_bytes);

/* Its effective user id. */
int traits_uid(const char *proc_root, uint32_t tgid, uint32_t *uid);

/*
 * Calls matches() with the path of each cgroup it is in (one for each hierarchy), until one matches.
 * 1: one did, 0: none.
 */
int traits_cgroup(const char *proc_root, uint32_t tgid,
		  bool (*matches)(const void *ctx, const char *path), const void *ctx);

/* What all its threads together have spent since they began; of very many threads, of some. */
struct traits_time {
	uint64_t run_ns; /* on a CPU */
	uint64_t
		wait_ns; /* runnable, and waiting for one; a wait that goes on is in it once it is over */
	uint64_t nr_sleeps;
	bool is_runnable; /* one of them is on a CPU, or waits for one */
};
int traits_time(const char *proc_root, uint32_t tgid, struct traits_time *time);

#endif
