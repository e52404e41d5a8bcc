/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the kernel's announcements about processes: forks, execs, names, executable mappings, exits; and about code that it makes
 * for itself.
 *
 * A dummy perf event on each CPU makes them, in order, without a tracepoint that would slow every system call. They are
 * delivered in the order of time over all CPUs.
 */
#ifndef CPROF_COLLECT_SIDEBAND_H
#define CPROF_COLLECT_SIDEBAND_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "collect/attach.h"
#include "stream.h"

struct sideband_pending {
	struct task_event event; /* its strings are in the batch's arena */
	uint64_t arrival;
};

struct sideband_batch {
	vec_of(struct sideband_pending) events;
	struct arena arena;
	size_t text_bytes; /* in arena */
};

struct sideband {
	struct perf_fds events;
	vec_of(void *) rings;	       /* one mmap for each event; NULL: its CPU is refused */
	struct sideband_batch pending; /* read, and not delivered yet */
	vec_of(uint64_t) enabled_ns;   /* of each event, when it was looked at */
	vec_of(int) refused_cpus;      /* on_cpu was told so */
	uint64_t next_look_ns;
	uint64_t nr_read;
	uint64_t nr_lost; /* announcements that the kernel dropped */
};

/* Opens the events, enabled. -errno, printed. */
int sideband_open(struct sideband *sideband);
/*
 * Reads what the rings hold, for the next drain to deliver: they are small, and overflow while cprof is
 * busy with something else. May be called while events are delivered, too.
 */
void sideband_gather(struct sideband *sideband);
/*
 * Once in a while: opens anew what stands still because its CPU went offline and is online again, and what belongs to a
 * CPU that was not online before. on_cpu is called for each such CPU, with err 0; or once with the -errno that opening it
 * fails with (-EPERM: it is more memory than this user may lock), which is tried again at each look. What happened there in
 * between is reported as a TASK_LOST. Returns how many were opened.
 */
unsigned int sideband_look(struct sideband *sideband, void (*on_cpu)(void *ctx, int cpu, int err),
			   void *ctx);
/* Delivers everything that happened before the call. */
void sideband_drain(struct sideband *sideband,
		    void (*deliver)(void *ctx, const struct task_event *event), void *ctx);
void sideband_release(struct sideband *sideband);

#endif
