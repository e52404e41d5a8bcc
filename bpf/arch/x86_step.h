/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a step on x86-64 does that no other machine's does: rulestep_abi.h includes this, and has defined what it needs. A call
 * leaves the return address on the stack, at sp.
 */
#ifndef CPROF_ARCH_X86_STEP_H
#define CPROF_ARCH_X86_STEP_H

#include "unwind_abi.h"

#ifdef STEP_TARGET /* without, there is nothing */

/* By a rule that fits into 20 bits, at a pc that is pc_delta bytes after its row's. */
STEP_INLINE enum unwind_status x86_step_inline(STEP_TARGET target, const STEP_REGS *regs,
					       __u32 packed, __u32 pc_delta, STEP_CALLER *caller)
{
	__u64 by_fp = packed / X86_RULE_BASE_FP & 1, cfa;
	__u32 fp_slot = x86_rule_fp_slot(packed);

	UNWIND_OPAQUE(by_fp);
	cfa = regs->sp + by_fp * (regs->fp - regs->sp) + x86_rule_cfa_off_at(packed, pc_delta);
	caller->fp = regs->fp;
	caller->sp = cfa;
	if (by_fp && !regs->fp)
		return UNWIND_NO_REG;
	if (cfa < regs->sp || (cfa == regs->sp && !step_is_leaf(regs)))
		return UNWIND_NO_MOVE;
	/* The lower address first, so that one window has both. */
	if ((fp_slot && !step_load(target, cfa - x86_fp_slot_bytes(fp_slot), &caller->fp)) ||
	    !step_load(target, cfa - 8, &caller->ip))
		return UNWIND_NO_MEMORY;
	return UNWIND_STEPPED;
}

/* Behind a clone system call (UNWIND_CLONE). */
STEP_INLINE enum unwind_status x86_step_clone(STEP_TARGET target, const STEP_REGS *regs,
					      STEP_CALLER *caller)
{
	if (step_is_leaf(regs) && !step_leaf_register(regs, X86_REG_AX))
		return UNWIND_AT_ROOT;
	if (!step_load(target, regs->sp, &caller->ip))
		return UNWIND_NO_MEMORY;
	caller->sp = regs->sp + 8;
	caller->fp = regs->fp;
	return UNWIND_STEPPED;
}

#endif

#endif
