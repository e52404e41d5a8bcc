/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a step on arm64 does that no other machine's does: rulestep_abi.h includes this, and has defined what it needs. A call
 * leaves the return address in lr.
 */
#ifndef CPROF_ARCH_ARM64_STEP_H
#define CPROF_ARCH_ARM64_STEP_H

#include "unwind_abi.h"

#ifdef STEP_TARGET /* without, there is nothing */

/* By a rule that fits into 20 bits. A CFA may be sp where a function was interrupted: it has no frame yet. */
STEP_INLINE enum unwind_status arm64_step_inline(STEP_TARGET target, const STEP_REGS *regs,
						 __u32 packed, STEP_CALLER *caller)
{
	__u64 slot = arm64_rule_slot(packed), off = arm64_rule_cfa_off(packed), base = regs->sp;

	if (packed & ARM64_RULE_BASE_FP || !base) {
		if (!regs->fp || (!(packed & ARM64_RULE_BASE_FP) && !slot))
			return UNWIND_NO_REG;
		off = packed & ARM64_RULE_BASE_FP ? off : slot;
		base = regs->fp;
	}
	caller->sp = base + off;
	if (caller->sp < regs->sp || (caller->sp == regs->sp && !regs->ip_exact))
		return UNWIND_NO_MOVE;
	if (!slot) {
		caller->ip = regs->extra;
		caller->fp = regs->fp;
		return regs->extra_known ? UNWIND_STEPPED : UNWIND_NO_REG;
	}
	/* The lower address first, so that one window has both. */
	if (!step_load(target, caller->sp - slot, &caller->fp) ||
	    !step_load(target, caller->sp - slot + 8, &caller->ip))
		return UNWIND_NO_MEMORY;
	return UNWIND_STEPPED;
}

/* Behind a clone system call (UNWIND_CLONE), which has no frame. */
STEP_INLINE enum unwind_status arm64_step_clone(const STEP_REGS *regs, STEP_CALLER *caller)
{
	if (step_is_leaf(regs) && !step_leaf_register(regs, 0))
		return UNWIND_AT_ROOT;
	if (!regs->extra_known)
		return UNWIND_NO_REG;
	caller->ip = regs->extra;
	caller->sp = regs->sp;
	caller->fp = regs->fp;
	return UNWIND_STEPPED;
}

#endif

#endif
