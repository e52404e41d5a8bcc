/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the files of /proc/PID that cprof needs besides maps: stat, status, task lists.
 *
 * proc_root is "/proc" or a folder that looks like it (tests). Every read is bounded in size.
 */
#ifndef CPROF_PROCESS_PROCFS_H
#define CPROF_PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

struct proc_stat {
	char comm[COMM_BYTES];
	char state; /* 'R', 'S', 'Z', ... */
	uint32_t parent_tgid;
	bool is_kernel_thread; /* PF_KTHREAD in its flags */
	bool is_exiting; /* PF_EXITING: its first thread is, and is no zombie yet, or it is one */
	uint32_t nr_threads;  /* counts a first thread that has ended while others live */
	uint64_t cpu_ticks;   /* CPU time of all of its threads so far */
	uint64_t start_ticks; /* as the file has it: the same at every reading of one process */
	/*
	 * CLOCK_MONOTONIC, to a clock tick (10 ms), rounded down. Too early by the time the machine
	 * was suspended after the process began, which /proc does not tell.
	 */
	uint64_t start_ns;
};

/* Whether no thread of the process runs any more: a zombie without other threads. */
static inline bool proc_stat_is_dead(const struct proc_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->nr_threads <= 1;
}

/*
 * Reads /proc/TGID/stat. comm may hold spaces and parentheses: the last ')' ends it.
 * -ESRCH: no such process; -EINVAL: not a stat line.
 */
int procfs_stat(const char *proc_root, uint32_t tgid, struct proc_stat *stat);
/*
 * A number of /proc/ID/status (proc_pid_status(5)), from 0 on: that of the column in the line of key, "\nUid:". (The
 * name comes before all others, but with its newlines escaped.) -ESRCH: no such task; -EINVAL: not a status
 * file.
 */
int procfs_status_number(const char *proc_root, uint32_t id, const char *key, size_t column,
			 uint32_t *number);
/* The thread group that id (a tgid or a tid) belongs to. -ESRCH: no such task; -EINVAL: not a status file. */
int procfs_tgid_of(const char *proc_root, uint32_t id, uint32_t *tgid);

/* The tgids of all processes, ascending, in *tgids (owned by the caller: free()). -errno: no such folder. */
int procfs_list(const char *proc_root, uint32_t **tgids, size_t *nr);

/* A thread of tgid that has not ended, for processes whose first thread has. -ESRCH: there is none. */
int procfs_live_thread(const char *proc_root, uint32_t tgid, uint32_t *tid);

/*
 * Reads a file whole into *text (NUL-terminated, owned by the caller). -EFBIG: it is larger than
 * max_bytes; -ESRCH: the process is gone.
 */
int procfs_read(const char *proc_root, uint32_t tgid, const char *file, size_t max_bytes,
		char **text, size_t *len_bytes);

/*
 * What /proc/TGID/status says of memory and threads, as lines "VmRSS = 5120 kB", in *text (owned by
 * the caller). -ESRCH: the process is gone, or is a zombie.
 */
int procfs_memory(const char *proc_root, uint32_t tgid, char **text);

/*
 * Calls fn with each line of a file (without its newline, borrowed for the call). Only one line is held, so
 * the file may be long. -EFBIG: it is longer than max_bytes; fn has seen the lines before that.
 */
typedef void (*procfs_line_fn)(void *ctx, const char *line);
int procfs_each_line(const char *proc_root, uint32_t tgid, const char *file, size_t max_bytes,
		     procfs_line_fn fn, void *ctx);

#endif
