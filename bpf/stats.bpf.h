/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * One per-CPU counter for everything that can happen to a sample. Adding never fails.
 *
 * One value of a per-CPU array holds all counters, so that user space reads them with one lookup and CPUs do
 * not share cache lines.
 */
#ifndef CPROF_STATS_BPF_H
#define CPROF_STATS_BPF_H

#include "prelude.bpf.h"

struct stats_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_stats);
};

/* Defined in stats.bpf.c. */
extern struct stats_map stats SEC(".maps");

/* Adds nr to a counter of this CPU. Here, to be inlined: three run in each sample. */
static __always_inline void stat_add(enum abi_stat stat, u64 nr)
{
	u32 zero = 0, i = stat;
	struct abi_stats *counters = bpf_map_lookup_elem(&stats, &zero);

	/* An atomic add: a tick may interrupt an uprobe's program between its load and its store. */
	if (counters && i < ABI_NR_STATS)
		__sync_fetch_and_add(&counters->n[i], nr);
}

static __always_inline void stat_inc(enum abi_stat stat)
{
	stat_add(stat, 1);
}

#endif
