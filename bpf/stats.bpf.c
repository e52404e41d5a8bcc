// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * One value of a per-CPU array holds all counters, so that user space reads them with one lookup and CPUs do
 * not share cache lines.
 */
#include "stats.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_stats);
} stats SEC(".maps");

__hidden void stat_add(enum abi_stat stat, u64 nr)
{
	u32 zero = 0, i = stat;
	struct abi_stats *counters = bpf_map_lookup_elem(&stats, &zero);

	/* An atomic add: a tick may interrupt an uprobe's program between its load and its store. */
	if (counters && i < ABI_NR_STATS)
		__sync_fetch_and_add(&counters->n[i], nr);
}

__hidden void stat_inc(enum abi_stat stat)
{
	stat_add(stat, 1);
}
