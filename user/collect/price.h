/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the traps of heap probes cost on this machine: measured during a run, on functions of cprof's own that are
 * probed as an allocator's are. From that and from BPF's counters follows what profiling has cost the targets.
 */
#ifndef CPROF_COLLECT_PRICE_H
#define CPROF_COLLECT_PRICE_H

#include "collect/uprobes.h"

struct price {
	double alloc_trap_ns,
		free_trap_ns; /* the fastest traps so far, of a process that is no target; 0: not measured */
	bool all_return; /* every call traps at its return: alloc_trap_ns has it */
	bool is_perf;	 /* private, and what follows */
	uint32_t batches_left;
	uint64_t next_ns;
};

/*
 * Fills *price. Takes some milliseconds; what it attaches fires in this process alone, and goes with the other probes.
 * Before session_start(). -errno, not printed: *price is zeros.
 */
int price_measure(struct uprobes *uprobes, const struct cprof_bpf *bpf, struct price *price);

/*
 * Measures again for 0.4 ms, if it is time to: called often, it does so 20 times a second for two seconds, and then once a second. Only between session_start(), or a look before
 * it, and session_stop().
 */
void price_refine(struct price *price);

/* Prints what a probe costs a target, with -v. */
void price_detail(const struct price *price);

/* Fills what of *overhead follows from the counters in tally: all but cpu_ns. */
void price_apply(const struct price *price, const struct tally *tally, struct overhead *overhead);

/* The same of calls that are only counted so far, as if half of them were allocations, or all with allocs_only. */
void price_expect(const struct price *price, uint64_t nr_calls, bool allocs_only,
		  struct overhead *expected);

#endif
