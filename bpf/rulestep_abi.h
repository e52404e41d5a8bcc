/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A step of a stack walk by an unwind rule (unwind_abi.h), the same in BPF and in user space: from a frame's
 * registers and the rule for its ip to its caller's registers.
 *
 * A caller's sp must be above its callee's, or the walk would loop. In a leaf frame it may stay: sp + 0
 * never is a CFA, but longjmp's last instructions have the caller's sp in a register. Two kinds of rule may
 * change stacks, and only the walk's length bounds them: a CFA that is loaded from memory, as on a signal
 * stack, and a frame pointer that code promises to keep, as Go's runtime.systemstack does. On arm64 sp may stay wherever an ip is
 * exact, and it may be lost (0) until a pair's place tells it again: arch/arm64_step.h.
 *
 * Who includes this says how memory is read. Define before:
 *
 *	STEP_INLINE	how functions are declared: static inline, or stronger
 *	STEP_WORD	the unsigned type of 64 bits that a register has
 *	STEP_TARGET	the type of `target` below
 *	STEP_REGS	a struct with a frame's ip, sp, fp, ip_exact, and extra if extra_known
 *	STEP_CALLER	a struct with the same, zeroed, for the caller's
 *	step_machine(target)	its struct unwind_machine; in BPF a constant, so that nothing is left of the other machines
 *	step_load(target, addr, value)	puts the 8 bytes of the stack at addr into *value; false: they
 *			cannot be read, and *value is as it was
 *	step_is_leaf(regs)	whether regs are the leaf frame's, of which all registers are known
 *	step_leaf_register(regs, reg)	the one of DWARF number reg, below UNWIND_NR_REGS
 *
 * Figures, the verifier's instructions of a walk on 5.10, 6.1, 6.12 and 7.2: tests/vm/instructions.txt.
 */
#ifndef CPROF_RULESTEP_ABI_H
#define CPROF_RULESTEP_ABI_H

#include "unwind_abi.h"

#ifdef STEP_TARGET /* without, there is nothing */

#include "arch/arm64_step.h"
#include "arch/x86_step.h"

/* By a rule that fits into 20 bits, at a pc that is pc_delta bytes after its row's. */
STEP_INLINE enum unwind_status rulestep_inline(STEP_TARGET target, const STEP_REGS *regs,
					       __u32 packed, __u32 pc_delta, STEP_CALLER *caller)
{
	if (step_has_link(target))
		return arm64_step_inline(target, regs, packed, caller);
	return x86_step_inline(target, regs, packed, pc_delta, caller);
}

STEP_INLINE enum unwind_status rulestep_clone(STEP_TARGET target, const STEP_REGS *regs,
					      STEP_CALLER *caller)
{
	return step_has_link(target) ? arm64_step_clone(regs, caller)
				     : x86_step_clone(target, regs, caller);
}

/*
 * By a frame pointer that the code promises to keep: its stacks end with a 0. On arm64 the pair that it points to is anywhere in its
 * frame, so sp is lost.
 */
STEP_INLINE enum unwind_status rulestep_by_fp(STEP_TARGET target, const STEP_REGS *regs,
					      STEP_CALLER *caller)
{
	__u64 fp = regs->fp;

	if (!fp)
		return UNWIND_AT_ROOT;
	if (fp & 7)
		return UNWIND_NO_CFI;
	if (!step_load(target, fp, &caller->fp) || !step_load(target, fp + 8, &caller->ip))
		return UNWIND_NO_MEMORY;
	caller->sp = step_has_link(target) ? 0 : fp + 16;
	return UNWIND_STEPPED;
}

STEP_INLINE enum unwind_status rulestep_register(STEP_TARGET target, const STEP_REGS *regs,
						 __u32 reg, STEP_WORD *value)
{
	if (reg >= UNWIND_NR_REGS)
		return UNWIND_NO_RULE;
	if (step_has_link(target) && reg == step_machine(target)->sp && !regs->sp)
		return UNWIND_NO_REG; /* lost */
	if (reg == step_machine(target)->sp)
		*value = regs->sp;
	else if (reg == step_machine(target)->fp)
		*value = regs->fp;
	else if (reg == step_machine(target)->extra && regs->extra_known)
		*value = regs->extra;
	else if (step_is_leaf(regs))
		*value = step_leaf_register(regs, reg);
	else
		return UNWIND_NO_REG;
	return reg == step_machine(target)->fp && !*value ? UNWIND_NO_REG : UNWIND_STEPPED;
}

/* A CFA of a rule that says where a pair is, whose sp is lost (arch/arm64_rule.h). */
STEP_INLINE _Bool rulestep_pair_cfa(STEP_TARGET target, const STEP_REGS *regs,
				    const struct unwind_rule *rule, STEP_WORD *cfa)
{
	if (!step_has_link(target) || regs->sp || rule->kind != UNWIND_FRAME ||
	    rule->cfa_reg != step_machine(target)->sp || unwind_fp_how(rule) != UNWIND_AT_CFA ||
	    !regs->fp)
		return 0;
	if (unwind_ra_how(rule) != UNWIND_BEHIND_FP &&
	    (unwind_ra_how(rule) != UNWIND_AT_CFA || rule->ra_off != rule->fp_off + 8))
		return 0; /* no pair: x29 may be any number */
	*cfa = regs->fp - (__u64)(__s64)rule->fp_off;
	return 1;
}

/* Whether a frame's CFA may be its sp: one that is not made yet. */
STEP_INLINE _Bool rulestep_may_stay(STEP_TARGET target, const STEP_REGS *regs)
{
	return step_has_link(target) ? regs->ip_exact : step_is_leaf(regs);
}

/*
 * A CFA that is in memory. On arm64 an interpreted Java method keeps sp below all that it may push, and its callee's frame is made where it
 * has pushed its arguments to: so the sp that it goes on with may be below that frame. It is found by its x29, and any sp above
 * its callee's frame will do. The same is so where such a CFA is in a register (rulestep_cfa()).
 */
STEP_INLINE enum unwind_status rulestep_load_cfa(STEP_TARGET target, const STEP_REGS *regs,
						 const struct unwind_rule *rule, __u64 base,
						 STEP_WORD *cfa)
{
	enum unwind_status status;
	STEP_WORD index = 0;

	if (rule->kind == UNWIND_INDEXED) {
		status = rulestep_register(target, regs, (__u32)rule->ra_off, &index);
		if (status)
			return status;
	}
	if (!step_load(target, base + 8 * index + (__u64)(__s64)rule->cfa_off, cfa))
		return UNWIND_NO_MEMORY;
	if (rule->kind != UNWIND_INTERPRETED)
		*cfa += (__u64)(__s64)rule->deref_off;
	else if (step_has_link(target) && *cfa < base + 16)
		*cfa = base + 16;
	return UNWIND_STEPPED;
}

STEP_INLINE enum unwind_status rulestep_cfa(STEP_TARGET target, const STEP_REGS *regs,
					    const struct unwind_rule *rule, STEP_WORD *cfa)
{
	enum unwind_status status;
	STEP_WORD base = 0;

	if (rule->kind == UNWIND_PLT) {
		*cfa = regs->sp + 8 + 8 * ((regs->ip & 15) >= (__u64)(__s64)rule->cfa_off);
		return UNWIND_STEPPED;
	}
	if (rulestep_pair_cfa(target, regs, rule, cfa))
		return UNWIND_STEPPED;
	status = rulestep_register(target, regs, rule->cfa_reg, &base);
	if (status)
		return status;
	if (rule->kind != UNWIND_FRAME)
		return rulestep_load_cfa(target, regs, rule, base, cfa);
	*cfa = base + (__u64)(__s64)rule->cfa_off;
	if (step_has_link(target) && *cfa < regs->sp && rule->cfa_reg != step_machine(target)->sp &&
	    rule->cfa_reg != step_machine(target)->fp)
		*cfa = regs->sp;
	if (*cfa < regs->sp || (*cfa == regs->sp && !rulestep_may_stay(target, regs)))
		return UNWIND_NO_MOVE;
	return UNWIND_STEPPED;
}

/* *value is the register's in this frame before, the caller's behind. */
STEP_INLINE enum unwind_status rulestep_value(STEP_TARGET target, const STEP_REGS *regs, __u32 how,
					      __s64 off, __u64 cfa, STEP_WORD *value)
{
	__u64 base = cfa;

	if (how == UNWIND_SAME)
		return UNWIND_STEPPED;
	if (how == UNWIND_IN_REG)
		return rulestep_register(target, regs, (__u32)off, value);
	if (how == UNWIND_IS_CFA) {
		*value = cfa + (__u64)off;
		return UNWIND_STEPPED;
	}
	if (how == UNWIND_AT_SP)
		base = regs->sp;
	else if (how == UNWIND_AT_FP)
		base = regs->fp;
	else if (how != UNWIND_AT_CFA)
		return UNWIND_NO_RULE;
	return step_load(target, base + (__u64)off, value) ? UNWIND_STEPPED : UNWIND_NO_MEMORY;
}

STEP_INLINE enum unwind_status rulestep_fp(STEP_TARGET target, const STEP_REGS *regs,
					   const struct unwind_rule *rule, __u64 cfa, STEP_WORD *fp)
{
	enum unwind_status status;

	if (unwind_fp_how(rule) == UNWIND_LOST) {
		*fp = 0;
		return UNWIND_STEPPED;
	}
	status = rulestep_value(target, regs, unwind_fp_how(rule), rule->fp_off, cfa, fp);
	if (status != UNWIND_NO_REG)
		return status;
	*fp = 0; /* that register is gone: most callers can do without fp */
	return UNWIND_STEPPED;
}

STEP_INLINE void rulestep_extra(STEP_TARGET target, const STEP_REGS *regs,
				const struct unwind_rule *rule, STEP_CALLER *caller)
{
	if (rule->extra_slot == 1)
		caller->extra_known = !rulestep_register(target, regs, step_machine(target)->extra,
							 &caller->extra);
	else if (rule->extra_slot >= 2)
		caller->extra_known =
			step_load(target, caller->sp - unwind_extra_slot_bytes(rule->extra_slot),
				  &caller->extra);
}

STEP_INLINE enum unwind_status rulestep_frame(STEP_TARGET target, const STEP_REGS *regs,
					      const struct unwind_rule *rule, STEP_CALLER *caller)
{
	__u32 ra_how = rule->kind == UNWIND_INDEXED ? UNWIND_AT_CFA : unwind_ra_how(rule);
	__s64 ra_off = rule->kind == UNWIND_INDEXED ? -8 : rule->ra_off;
	STEP_WORD cfa = 0, ip = regs->ip, fp = regs->fp;
	enum unwind_status status = rulestep_cfa(target, regs, rule, &cfa);

	if (step_has_link(target) && ra_how == UNWIND_BEHIND_FP) {
		ra_how = UNWIND_AT_CFA;
		ra_off = (__s64)rule->fp_off + 8;
	}
	if (!status)
		status = rulestep_value(target, regs, ra_how, ra_off, cfa, &ip);
	if (!status)
		status = rulestep_fp(target, regs, rule, cfa, &fp);
	if (status)
		return status;
	caller->ip = ip;
	caller->fp = fp;
	caller->sp = cfa;
	rulestep_extra(target, regs, rule, caller);
	return UNWIND_STEPPED;
}

STEP_INLINE enum unwind_status rulestep_signal(STEP_TARGET target, const STEP_REGS *regs,
					       const struct unwind_rule *rule, STEP_CALLER *caller)
{
	__u64 sp = regs->sp;

	if (step_has_link(target) && !sp)
		return UNWIND_NO_REG; /* lost */
	if (!step_load(target, sp + (__u64)(__s64)rule->fp_off, &caller->fp) ||
	    !step_load(target, sp + (__u64)(__s64)rule->cfa_off, &caller->sp) ||
	    !step_load(target, sp + (__u64)(__s64)rule->ra_off, &caller->ip))
		return UNWIND_NO_MEMORY;
	caller->ip_exact = 1;
	if (rule->deref_off)
		caller->extra_known =
			step_load(target, sp + (__u64)(__s64)rule->deref_off, &caller->extra);
	return UNWIND_STEPPED;
}

STEP_INLINE __u64 rulestep_method_word(STEP_TARGET target, __u64 method, __u64 bytecode)
{
	__u64 limit = step_has_link(target) ? 2 * UNWIND_METHOD_LIMIT : UNWIND_METHOD_LIMIT;

	if (!method || method & 7 || method >= limit)
		return 0;
	return UNWIND_METHOD_MARK |
	       (method & (UNWIND_METHOD_LIMIT - 1)) >> 3 << UNWIND_METHOD_SHIFT | bytecode;
}

/* What stands for a frame that is interpreted (UNWIND_METHOD_MARK). 0: it is none, or its Method is not known. */
STEP_INLINE __u64 rulestep_method(STEP_TARGET target, const STEP_REGS *regs,
				  const struct unwind_rule *rule)
{
	__u64 slot = regs->fp + (__u64)(__s64)(rule->deref_off & ~UNWIND_BCP_IN_FRAME);
	STEP_WORD method = 0, bcp = 0;

	if (rule->kind == UNWIND_FRAME ? !rule->deref_off : rule->kind != UNWIND_INTERPRETED)
		return 0;
	if (rule->kind == UNWIND_FRAME || (step_is_leaf(regs) && slot < regs->sp))
		return step_is_leaf(regs)
			       ? rulestep_method_word(
					 target,
					 step_leaf_register(regs, step_machine(target)->method), 0)
			       : 0;
	if (!step_load(target, slot, &bcp) ||
	    !step_load(target, regs->fp + (__u64)UNWIND_METHOD_OFF, &method))
		return 0;
	if (step_is_leaf(regs) && !(rule->deref_off & UNWIND_BCP_IN_FRAME) &&
	    step_leaf_register(regs, step_machine(target)->bcp) - regs->sp >=
		    UNWIND_BCP_STACK_BYTES)
		bcp = step_leaf_register(regs, step_machine(target)->bcp);
	return rulestep_method_word(target, method,
				    UNWIND_METHOD_HAS_BCP | (bcp & UNWIND_METHOD_BCP));
}

/* By a rule in full. The caller's ip may be 0. */
STEP_INLINE enum unwind_status rulestep(STEP_TARGET target, const STEP_REGS *regs,
					const struct unwind_rule *rule, STEP_CALLER *caller)
{
	switch (rule->kind) {
	case UNWIND_GAP:
		return UNWIND_NO_CFI;
	case UNWIND_ROOT:
		return UNWIND_AT_ROOT;
	case UNWIND_FP:
		return rulestep_by_fp(target, regs, caller);
	case UNWIND_FRAME:
	case UNWIND_DEREF:
	case UNWIND_INTERPRETED:
	case UNWIND_INDEXED:
	case UNWIND_PLT:
		return rulestep_frame(target, regs, rule, caller);
	case UNWIND_SIGNAL:
		return rulestep_signal(target, regs, rule, caller);
	case UNWIND_CLONE:
		return rulestep_clone(target, regs, caller);
	case UNWIND_UNKNOWN:
		return UNWIND_NEW_CODE;
	default:
		return UNWIND_NO_RULE;
	}
}

#endif

#endif
