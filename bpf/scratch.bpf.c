// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A slot counts its users. A program claims it by adding one and being the only one. If it finds another, it
 * takes its one away again and tries the next slot, without having touched anything else. There is no
 * add-and-fetch before Linux 5.12, so that two who preempt each other between adding and reading may
 * both go on to the next slot; but never do two stay. Slots are those of one CPU, which sees what it does itself in
 * order: no fence is needed.
 *
 * Alternative rejected: one nesting level for a CPU, the level being the slot. Programs that preempt
 * one another need not end in the order of a stack: the scheduler may let the first go on before the
 * second, the level falls, and a third is given the slot that the second still works in. On Linux 7.2
 * that put one block's size and stack in place of another's, one in 700.
 */
#include "scratch.bpf.h"

struct scratch_map scratch_slots SEC(".maps");

__noinline u32 scratch_claim(void)
{
	for (u32 slot = ABI_SLOT_UPROBE; slot < ABI_NR_SLOTS; slot++) {
		struct scratch *scratch = scratch_at(slot);

		if (!scratch || slot >= ABI_SLOT_UPROBE + config.nr_uprobe_slots)
			break;
		__sync_fetch_and_add(&scratch->nr_users, 1);
		if (*(volatile u64 *)&scratch->nr_users == 1)
			return slot;
		__sync_fetch_and_add(&scratch->nr_users, -1);
	}
	return 0;
}

__hidden void scratch_give_back(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);

	if (scratch)
		__sync_fetch_and_add(&scratch->nr_users, -1);
}
