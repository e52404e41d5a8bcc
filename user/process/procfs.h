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
	uint64_t start_ns;     /* CLOCK_MONOTONIC, to a clock tick (10 ms) */
};

/*
 * Reads /proc/TGID/stat. comm may hold spaces and parentheses: the last ')' ends it.
 * -ESRCH: no such process; -EINVAL: not a stat line.
 */
int procfs_stat(const char *proc_root, uint32_t tgid, struct proc_stat *stat);
/* The thread group that id (a tgid or a tid) belongs to. -ESRCH. */
int procfs_tgid_of(const char *proc_root, uint32_t id, uint32_t *tgid);

/* The tgids there are, in *tgids (owned by the caller: free()). -errno. */
int procfs_list(const char *proc_root, uint32_t **tgids, size_t *nr);

/*
 * A whole file of at most max_bytes in *text (NUL-terminated, owned by the caller). -EFBIG when
 * there is more; -ESRCH where the process is gone.
 */
int procfs_read(const char *proc_root, uint32_t tgid, const char *file, size_t max_bytes,
		char **text, size_t *len_bytes);

#endif
