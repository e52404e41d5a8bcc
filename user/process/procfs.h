/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The little that cprof reads of /proc/PID besides maps. proc_root is "/proc" or a folder made to
 * look like it. Everything here is small, bounded and read in one go.
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
	uint32_t nr_threads;   /* a first thread that ended counts while others live */
	uint64_t cpu_ticks;    /* what all of its threads were on a CPU, so far */
	uint64_t start_ticks;  /* as it stands there: the same at every reading of one process */
	/*
	 * CLOCK_MONOTONIC, to a clock tick (10 ms), rounded down. Too early by the time the machine
	 * was suspended after the process began: that is not to be had from /proc.
	 */
	uint64_t start_ns;
};

/* Nothing of it runs any more: a zombie, and not one whose other threads live on. */
static inline bool proc_stat_is_dead(const struct proc_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->nr_threads <= 1;
}

/*
 * Reads /proc/TGID/stat. comm may hold spaces and parentheses: the last ')' ends it.
 * -ESRCH: no such process; -EINVAL: not a stat line.
 */
int procfs_stat(const char *proc_root, uint32_t tgid, struct proc_stat *stat);
/* The thread group that id (a tgid or a tid) belongs to. -ESRCH. */
int procfs_tgid_of(const char *proc_root, uint32_t id, uint32_t *tgid);

/* The tgids there are, in *tgids (owned by the caller: free()). -errno. */
int procfs_list(const char *proc_root, uint32_t **tgids, size_t *nr);

/* A thread of tgid that has not ended, where its first one has. -ESRCH: there is none. */
int procfs_live_thread(const char *proc_root, uint32_t tgid, uint32_t *tid);

/*
 * A whole file of at most max_bytes in *text (NUL-terminated, owned by the caller). -EFBIG when
 * there is more; -ESRCH where the process is gone.
 */
int procfs_read(const char *proc_root, uint32_t tgid, const char *file, size_t max_bytes,
		char **text, size_t *len_bytes);

/*
 * What /proc/TGID/status says of memory and threads, as lines "VmRSS = 5120 kB", in *text (owned by
 * the caller). -ESRCH: the process is gone, or nothing of it runs any more.
 */
int procfs_memory(const char *proc_root, uint32_t tgid, char **text);

/*
 * Calls fn with each line (without its newline, borrowed for the call) of a file, which may be long:
 * only one line is held. -EFBIG after max_bytes: the lines until then were given.
 */
typedef void (*procfs_line_fn)(void *ctx, const char *line);
int procfs_each_line(const char *proc_root, uint32_t tgid, const char *file, size_t max_bytes,
		     procfs_line_fn fn, void *ctx);

#endif
