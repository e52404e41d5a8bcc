// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The claim is a per-CPU nesting level: add one, and the level is the slot. Without an atomic
 * add-and-fetch (Linux 5.12) two programs that preempt each other just between adding and reading
 * could take the same slot; rare as that is, the owner's mark shows it and the sample is counted as
 * lost instead of being written with somebody else's stack.
 */
#include "scratch.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_NR_SLOTS);
	__type(key, u32);
	__type(value, struct scratch);
} scratch_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} nesting_levels SEC(".maps");

__hidden struct scratch *scratch_at(u32 slot)
{
	return bpf_map_lookup_elem(&scratch_slots, &slot);
}

__hidden u32 scratch_claim(void)
{
	u32 zero = 0, slot;
	u64 *level = bpf_map_lookup_elem(&nesting_levels, &zero);
	struct scratch *scratch;

	if (!level)
		return 0;
	__sync_fetch_and_add(level, 1);
	slot = *(volatile u64 *)level + ABI_SLOT_UPROBE - 1;
	if (slot >= ABI_SLOT_UPROBE && slot < ABI_SLOT_UPROBE + config.nr_uprobe_slots) {
		scratch = scratch_at(slot);
		if (scratch) {
			scratch->owner = bpf_get_current_pid_tgid();
			return slot;
		}
	}
	scratch_give_back();
	return 0;
}

__hidden bool scratch_is_ours(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);

	return scratch && *(volatile u64 *)&scratch->owner == bpf_get_current_pid_tgid();
}

__hidden void scratch_give_back(void)
{
	u32 zero = 0;
	u64 *level = bpf_map_lookup_elem(&nesting_levels, &zero);

	if (level)
		__sync_fetch_and_add(level, -1);
}
