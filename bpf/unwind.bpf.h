/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * User stacks: from registers to a list of ips, leaf first, in a slot's work space. Writes at most
 * ABI_MAX_USER_FRAMES of them, behind the record's kernel ips, and always says why it ended. Of a
 * longer walk both ends are kept (cprof_abi.h).
 */
#ifndef CPROF_UNWIND_BPF_H
#define CPROF_UNWIND_BPF_H

#include "prelude.bpf.h"
#include "scratch.bpf.h"

#define IPS_MASK 1023
_Static_assert(ABI_MAX_FRAMES <= IPS_MASK, "the mask leaves every index alone");

/* Where frame nr is kept: behind those of the leaf's side is a ring, which keeps the last ones. */
static __always_inline u32 unwind_place(u32 nr)
{
	return nr < ABI_LEAF_FRAMES ? nr : ABI_LEAF_FRAMES | (nr & (ABI_RING_FRAMES - 1));
}

/*
 * Appends one ip. The mask is for verifiers of before 6.12, which do not follow what is known of i through a
 * copy of it.
 */
static __always_inline void unwind_put(struct scratch *scratch, u32 nr, u64 ip)
{
	u32 i = unwind_place(nr);

	scratch->record.ips[(scratch->record.nr_kernel + i) & IPS_MASK] = ip;
}

/* Adds to the ip of a frame that was appended. */
static __always_inline void unwind_mark(struct scratch *scratch, u32 nr, u64 mark)
{
	u32 i = unwind_place(nr);

	scratch->record.ips[(scratch->record.nr_kernel + i) & IPS_MASK] |= mark;
}

static __always_inline void unwind_push(struct scratch *scratch, u64 ip)
{
	unwind_put(scratch, scratch->walk.nr++, ip);
}

/* Walks the record's process from walk's registers, whose ip comes first, to the end of the stack. */
void unwind_user(u32 slot);

#endif
