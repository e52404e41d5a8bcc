/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * One step of a walk, from a frame to its caller: what its kinds share. unwind.bpf.c has those by a rule,
 * gap.bpf.c the one where there is none.
 */
#ifndef CPROF_STEP_BPF_H
#define CPROF_STEP_BPF_H

#include "prelude.bpf.h"
#include "scratch.bpf.h"
#include "stackmem.bpf.h"
#include "unwind.bpf.h"

/* What a step finds out: the caller's registers, or how the walk ends. */
struct caller {
	u64 ip, sp, fp, bx;
	u64 guessed; /* ABI_IP_GUESSED or 0 */
	u8 ip_exact, bx_known;
};

/*
 * The functions below return 0 to go on, or the abi_stack_end that ends the walk, plus one: no end is
 * 0 then, not even ABI_END_ROOT.
 */
#define END(reason) (ABI_END_##reason + 1)

/*
 * By a frame pointer that the code promises to keep; its stacks end with a 0. It may lead anywhere: Go's
 * runtime.systemstack calls on another stack, and leaves its caller's frame pointer in rbp.
 */
static __always_inline int step_by_fp(struct scratch *scratch, u32 slot, struct caller *caller)
{
	struct walk *walk = &scratch->walk;

	if (!walk->fp)
		return END(ROOT);
	if (walk->fp & 7)
		return END(NO_CFI);
	if (!stackmem_load(scratch, slot, walk->fp, &caller->fp) ||
	    !stackmem_load(scratch, slot, walk->fp + 8, &caller->ip))
		return END(UNREADABLE);
	caller->sp = walk->fp + 16;
	return 0;
}

/* Makes the caller's frame the walk's. 0, or 1 if the walk is over. */
static __always_inline int go_to_caller(struct scratch *scratch, const struct caller *caller,
					int end)
{
	struct walk *walk = &scratch->walk;

	if (!end && !caller->ip)
		end = END(NO_ROOT);
	if (end) {
		walk->end = end - 1;
		return 1;
	}
	walk->ip = caller->ip;
	walk->sp = caller->sp;
	walk->fp = caller->fp;
	walk->bx = caller->bx;
	walk->bx_known = caller->bx_known;
	walk->ip_exact = caller->ip_exact;
	walk->has_leaf = false;
	unwind_push(scratch, caller->ip | caller->guessed);
	return 0;
}

/*
 * The step where no rule is; the walk's `at` is set. 0, or 1 if the walk is over. Global, and so verified
 * once.
 */
int unwind_step_gap(u32 slot);

#endif
