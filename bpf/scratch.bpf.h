/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Work space for one record: too large for the 512 bytes of BPF stack, so it lives in a per-CPU map.
 *
 * A tick has slot ABI_SLOT_TICK to itself: its timer cannot interrupt itself on one CPU. Uprobe
 * programs cannot migrate but can be preempted, so several may be under way on one CPU: each claims
 * a slot of its own and gives it back.
 */
#ifndef CPROF_SCRATCH_BPF_H
#define CPROF_SCRATCH_BPF_H

#include "prelude.bpf.h"

struct walk {
	u64 ip, sp, bp; /* of the frame being looked at */
	u32 nr;		/* user ips written */
	u32 end;	/* enum abi_stack_end, valid once the walk is over */
};

struct scratch {
	struct walk walk;
	u64 owner; /* pid_tgid of whoever claimed the slot */
	u32 exec_id;
	u32 is_kernel_thread;
	struct abi_record record; /* ips: nr_kernel kernel ones, then walk.nr user ones */
};

/* NULL only for a slot that does not exist, for the verifier's sake. */
struct scratch *scratch_at(u32 slot);

/* A free slot for an uprobe's program, 0 if there is none. */
u32 scratch_claim(void);
/* Has nobody else used the slot since? To be asked after the work and before its result leaves. */
bool scratch_is_ours(u32 slot);
void scratch_give_back(void);

#endif
