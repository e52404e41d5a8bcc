/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One BPF program, attached to places of one file: as a multi or session link, or as a perf event for each place.
 *
 * The kernel changes the code of every process that maps the file: it waits for the lock of each one's mappings, and nothing
 * ends that wait, not even SIGKILL. Whoever calls this, or closes what it made, may be held by such a process.
 */
#ifndef CPROF_COLLECT_UPROBELINK_H
#define CPROF_COLLECT_UPROBELINK_H

#include <stdint.h>

#include "allocsite.h"

/* Plain data, since it crosses a socket (collect/attacher.h). */
struct uprobe_link {
	uint32_t perf_type; /* of perf events of uprobes; 0: a link for all places */
	uint32_t attach_type;
	uint32_t at_return, has_cookies; /* 0 or 1 */
	uint32_t tgid;			 /* 0: in every process */
	uint32_t is_held;		 /* 1: the attacher keeps it */
	uint32_t held; /* with is_held: so many of those that it keeps stay if this one fails */
	uint32_t nr;   /* of the places */
	uint64_t offsets[ALLOC_MAX_SITES], cookies[ALLOC_MAX_SITES], semaphores[ALLOC_MAX_SITES];
};

/* The type of perf events of uprobes; 0: the kernel has none. */
uint32_t uprobelink_perf_type(void);
/* Attaches it. The number of descriptors that hold it, in fds, at most link->nr; closing them detaches. -errno: nothing is attached. */
int uprobelink_make(const struct uprobe_link *link, int program_fd, int file_fd, int *fds);

#endif
