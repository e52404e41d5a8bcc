/* SPDX-License-Identifier: BSD-2-Clause */
/* The CPU sampler: a software cpu-clock perf event on each CPU, with a BPF program at every tick. */
#ifndef CPROF_COLLECT_ATTACH_H
#define CPROF_COLLECT_ATTACH_H

#include <stdint.h>

#include "base/vec.h"

struct perf_event_attr;

/*
 * perf_event_open() for all tasks on each online CPU, in CPU order. The descriptors are appended to fds, which the
 * caller releases. -errno, printed, with what: the purpose of the event.
 */
struct perf_fds {
	vec_of(int) fds;
	vec_of(int) cpus; /* one for each */
};
int perf_open_on_cpus(struct perf_event_attr *attr, const char *what, struct perf_fds *fds);
/* The same for one CPU. A descriptor that the caller owns, or -errno, not printed (-ENODEV: it is offline). */
int perf_open_on_cpu(struct perf_event_attr *attr, int cpu);
/* The position of a CPU in fds, -1 if it is not there. */
int perf_fds_find(const struct perf_fds *fds, int cpu);
void perf_fds_release(struct perf_fds *fds); /* closes them */

struct sampler {
	struct perf_fds events;
	uint64_t period_ns;
	uint64_t nr_before; /* ticks of descriptors that were replaced */
	int prog_fd;	    /* borrowed */
};

/* Opens the events, disabled, and attaches prog_fd. -errno, printed. */
int sampler_open(struct sampler *sampler, uint32_t frequency_hz, int prog_fd);
/* -errno, printed. */
int sampler_enable(struct sampler *sampler);
/*
 * CPU cpu is online again, or for the first time: its event is opened anew, enabled. The one that it had stands still for
 * ever. -errno, not printed: it is not sampled.
 */
int sampler_reopen(struct sampler *sampler, int cpu);
/* No BPF program of a tick runs any more when this returns. */
void sampler_disable(struct sampler *sampler);
/* How many ticks there should have been in the time for which the events were enabled. */
uint64_t sampler_expected(const struct sampler *sampler);
void sampler_release(struct sampler *sampler);

#endif
