/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the traps of heap probes cost on this machine: measured at the start of a run, on functions of cprof's own that are
 * probed as an allocator's are. From that and from BPF's counters follows what profiling has cost the targets.
 */
#ifndef CPROF_COLLECT_PRICE_H
#define CPROF_COLLECT_PRICE_H

#include "collect/uprobes.h"

struct price {
	double alloc_ns;  /* a call that is not sampled */
	double free_ns;	  /* a free of a block that was not sampled */
	double return_ns; /* of a call that traps at its return, where not every call does */
	bool all_return;  /* every call does: alloc_ns has it */
};

/*
 * Fills *price. Takes some milliseconds; what it attaches fires in this process alone, and goes with the other probes.
 * Before session_start(). -errno, not printed: *price is zeros.
 */
int price_measure(struct uprobes *uprobes, const struct cprof_bpf *bpf, struct price *price);

/* Fills what of *overhead follows from the counters in tally: all but cpu_ns. */
void price_apply(const struct price *price, const struct tally *tally, struct overhead *overhead);

/* The same of calls that are only counted so far, as if half of them were allocations, or all with allocs_only. */
void price_expect(const struct price *price, uint64_t nr_calls, bool allocs_only,
		  struct overhead *expected);

#endif
