// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A stack walk: look up the rule for the ip, compute the caller's registers, write its ip, repeat.
 * Compilers describe every function of a binary that way for exceptions (.eh_frame); user space has
 * made tables of it (user/unwind/ehframe.h). The arithmetic here is that of user/unwind/unwindstep.c,
 * which the tests compare it with.
 *
 * Where there is no description, gap.bpf.c makes the step. Nothing of what the target's memory says is
 * trusted further than to be looked up.
 *
 * A step by an inline rule, as nearly all are, is made without a call. The other kinds of step, and a few steps
 * together, are global functions (not static) with scalar arguments: the verifier then checks each once, by
 * itself, and not again for each turn of the loop and each way to get there.
 */
#include "unwind.bpf.h"

#include "lookup.bpf.h"
#include "stackmem.bpf.h"
#include "step.bpf.h"
#include "tables.bpf.h"

/*
 * How many steps one function makes: calls cost time (lookup.bpf.h), and each of these steps is verified
 * anew. Of 16 a walk is hardly faster, and takes twice as many verified instructions.
 */
#define STEPS_A_CALL 4
_Static_assert(ABI_FRAMES_AT_ONCE % STEPS_A_CALL == 0, "calls make whole turns");

/* A step by a rule that fits into 20 bits. */
static __always_inline int step_by_inline(struct scratch *scratch, u32 slot,
					  const struct rule_at *at)
{
	struct walk *walk = &scratch->walk;
	u32 packed = at->packed, fp_slot = unwind_rule_fp_slot(packed);
	u64 by_fp = packed / UNWIND_RULE_BASE_FP & 1, cfa;
	struct caller caller = {.fp = walk->fp};
	int end = 0;

	UNWIND_OPAQUE(by_fp);
	cfa = walk->sp + by_fp * (walk->fp - walk->sp) +
	      unwind_rule_cfa_off_at(packed, at->pc_delta);
	caller.sp = cfa;
	if (by_fp && !walk->fp)
		end = END(NO_REG);
	else if (cfa < walk->sp || (cfa == walk->sp && !walk->has_leaf))
		end = END(NO_MOVE);
	/* The lower address first, so that one window has both. */
	else if ((fp_slot &&
		  !stackmem_load(scratch, slot, cfa - unwind_fp_slot_bytes(fp_slot), &caller.fp)) ||
		 !stackmem_load(scratch, slot, cfa - 8, &caller.ip))
		end = END(UNREADABLE);
	return go_to_caller(scratch, &caller, end);
}

static __always_inline int get_register(const struct walk *walk, u32 reg, u64 *value)
{
	if (reg == UNWIND_REG_SP)
		*value = walk->sp;
	else if (reg == UNWIND_REG_FP)
		*value = walk->fp;
	else if (reg == UNWIND_REG_BX && walk->bx_known)
		*value = walk->bx;
	else if (walk->has_leaf)
		*value = walk->leaf[reg & (UNWIND_NR_REGS - 1)];
	else
		return END(NO_REG);
	return reg == UNWIND_REG_FP && !*value ? END(NO_REG) : 0;
}

static __always_inline int find_cfa(struct scratch *scratch, u32 slot,
				    const struct unwind_rule *rule, u64 *cfa)
{
	struct walk *walk = &scratch->walk;
	u64 base = 0, index = 0;
	int err;

	if (rule->kind == UNWIND_PLT) {
		*cfa = walk->sp + 8 + 8 * ((walk->ip & 15) >= (u64)rule->cfa_off);
		return 0;
	}
	err = get_register(walk, rule->cfa_reg, &base);
	if (err)
		return err;
	if (rule->kind == UNWIND_FRAME) {
		*cfa = base + (s64)rule->cfa_off;
		if (*cfa < walk->sp || (*cfa == walk->sp && !walk->has_leaf))
			return END(NO_MOVE);
		return 0;
	}
	if (rule->kind == UNWIND_INDEXED) {
		err = get_register(walk, rule->ra_off, &index);
		if (err)
			return err;
	}
	if (!stackmem_load(scratch, slot, base + 8 * index + (s64)rule->cfa_off, cfa))
		return END(UNREADABLE);
	*cfa += (s64)rule->deref_off;
	return 0;
}

/* old: the register's value in this frame. */
static __always_inline int find_value(struct scratch *scratch, u32 slot, u32 how, s64 off, u64 cfa,
				      u64 *value)
{
	struct walk *walk = &scratch->walk;
	u64 base = cfa;

	if (how == UNWIND_SAME)
		return 0;
	if (how == UNWIND_IN_REG)
		return get_register(walk, off, value);
	if (how == UNWIND_IS_CFA) {
		*value = cfa + off;
		return 0;
	}
	if (how == UNWIND_AT_SP)
		base = walk->sp;
	else if (how == UNWIND_AT_FP)
		base = walk->fp;
	else if (how != UNWIND_AT_CFA)
		return END(NO_RULE);
	return stackmem_load(scratch, slot, base + off, value) ? 0 : END(UNREADABLE);
}

static __always_inline void find_bx(struct scratch *scratch, u32 slot,
				    const struct unwind_rule *rule, u64 cfa, struct caller *caller)
{
	struct walk *walk = &scratch->walk;

	if (rule->bx_slot == 1) {
		caller->bx = walk->bx;
		caller->bx_known = walk->bx_known;
	} else if (rule->bx_slot >= 2) {
		caller->bx_known = stackmem_load(
			scratch, slot, cfa - unwind_bx_slot_bytes(rule->bx_slot), &caller->bx);
	}
}

static __always_inline int step_by_frame(struct scratch *scratch, u32 slot,
					 const struct unwind_rule *rule, struct caller *caller)
{
	u32 ra_how = rule->kind == UNWIND_INDEXED ? UNWIND_AT_CFA : unwind_ra_how(rule);
	s64 ra_off = rule->kind == UNWIND_INDEXED ? -8 : rule->ra_off;
	u64 cfa = 0, ip = scratch->walk.ip, fp = scratch->walk.fp;
	int err = find_cfa(scratch, slot, rule, &cfa);

	if (!err)
		err = find_value(scratch, slot, ra_how, ra_off, cfa, &ip);
	if (err)
		return err;
	if (unwind_fp_how(rule) == UNWIND_LOST) {
		fp = 0;
	} else {
		err = find_value(scratch, slot, unwind_fp_how(rule), rule->fp_off, cfa, &fp);
		if (err == END(NO_REG))
			fp = 0; /* that register is gone: most callers can do without fp */
		else if (err)
			return err;
	}
	caller->ip = ip;
	caller->fp = fp;
	caller->sp = cfa;
	find_bx(scratch, slot, rule, cfa, caller);
	return 0;
}

static __always_inline int step_by_signal(struct scratch *scratch, u32 slot,
					  const struct unwind_rule *rule, struct caller *caller)
{
	u64 sp = scratch->walk.sp;

	if (!stackmem_load(scratch, slot, sp + (s64)rule->fp_off, &caller->fp) ||
	    !stackmem_load(scratch, slot, sp + (s64)rule->cfa_off, &caller->sp) ||
	    !stackmem_load(scratch, slot, sp + (s64)rule->ra_off, &caller->ip))
		return END(UNREADABLE);
	caller->ip_exact = true;
	if (rule->deref_off)
		caller->bx_known =
			stackmem_load(scratch, slot, sp + (s64)rule->deref_off, &caller->bx);
	return 0;
}

static __always_inline int step_by_clone(struct scratch *scratch, u32 slot, struct caller *caller)
{
	struct walk *walk = &scratch->walk;

	if (walk->has_leaf && !walk->leaf[0])
		return END(ROOT);
	if (!stackmem_load(scratch, slot, walk->sp, &caller->ip))
		return END(UNREADABLE);
	caller->sp = walk->sp + 8;
	caller->fp = walk->fp;
	return 0;
}

static __always_inline int step_by_rule(struct scratch *scratch, u32 slot,
					const struct unwind_rule *rule, struct caller *caller)
{
	switch (rule->kind) {
	case UNWIND_ROOT:
		return END(ROOT);
	case UNWIND_FP:
		return step_by_fp(scratch, slot, caller);
	case UNWIND_FRAME:
	case UNWIND_DEREF:
	case UNWIND_INDEXED:
	case UNWIND_PLT:
		return step_by_frame(scratch, slot, rule, caller);
	case UNWIND_SIGNAL:
		return step_by_signal(scratch, slot, rule, caller);
	case UNWIND_CLONE:
		return step_by_clone(scratch, slot, caller);
	case UNWIND_UNKNOWN:
		return END(UNKNOWN_CODE);
	default:
		return END(NO_RULE);
	}
}

__noinline int unwind_step_extended(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);
	struct caller caller = {};
	struct unwind_rule rule;

	if (!scratch)
		return 1;
	tables_extended(&scratch->walk.at, &rule);
	return go_to_caller(scratch, &caller, step_by_rule(scratch, slot, &rule, &caller));
}

/* A step of the rarer kinds: they are functions of their own. */
static __always_inline int step_by_other(struct walk *walk, u32 slot, const struct rule_at *at)
{
	if (at->table == ABI_TABLE_UNBUILT) {
		walk->end = ABI_END_UNKNOWN_CODE;
		return 1;
	}
	walk->at = *at;
	return at->packed == (UNWIND_RULE_EXTENDED | UNWIND_EXTENDED_GAP)
		       ? unwind_step_gap(slot)
		       : unwind_step_extended(slot);
}

/* STEPS_A_CALL frames. 0: there is one more, all ips are written; else the walk is over. */
__noinline int unwind_few(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);
	u32 zero = 0;
	struct table_space *all_tables = bpf_map_lookup_elem(&tables, &zero);
	struct vma_space *all_vmas = bpf_map_lookup_elem(&vmas, &zero);

	if (!scratch || !all_tables || !all_vmas)
		return 1; /* never: for the verifier */
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < STEPS_A_CALL; i++) {
		struct rule_at at = lookup_rule(&scratch->walk, all_vmas, all_tables);
		int over;

		if (at.packed & UNWIND_RULE_EXTENDED)
			over = step_by_other(&scratch->walk, slot, &at);
		else
			over = step_by_inline(scratch, slot, &at);
		if (over)
			return 1;
	}
	return 0;
}

/* Many steps: for the verifier a loop of loops, each short, and gone through once. */
__noinline int unwind_steps(u32 slot)
{
	for (int i = 0; i < ABI_FRAMES_AT_ONCE / STEPS_A_CALL; i++)
		if (unwind_few(slot))
			return 1;
	return 0;
}

/* To the root, or as far as time allows: how long it takes is the target's choice. */
static __always_inline void walk_on(u32 slot, struct walk *walk)
{
	u64 deadline_ns = 0, now_ns;

	for (int i = 0; i < ABI_MAX_WALKED_TURNS; i++) {
		if (unwind_steps(slot))
			return;
		now_ns = bpf_ktime_get_ns();
		if (!deadline_ns)
			deadline_ns = now_ns + config.walk_ns;
		if (now_ns > deadline_ns)
			break;
	}
	walk->end = ABI_END_TOO_DEEP;
}

/*
 * Puts the frames that went round into their order, with the mark in place of the oldest. (They are
 * copied twice, one behind the other, so that the whole is one piece of it wherever it begins.) Of a
 * walk without an end only the leaf's side means the same in the next sample.
 */
static __always_inline void elide(struct scratch *scratch)
{
	u64 *ring = &scratch->record.ips[(scratch->record.nr_kernel & ABI_MAX_KERNEL_FRAMES) +
					 ABI_LEAF_FRAMES];
	const u32 len_bytes = ABI_RING_FRAMES * sizeof(*ring);
	struct walk *walk = &scratch->walk;
	u32 oldest = walk->nr & (ABI_RING_FRAMES - 1);

	walk->nr_walked = walk->nr;
	if (walk->end == ABI_END_TOO_DEEP)
		walk->nr = ABI_LEAF_FRAMES;
	if (walk->nr <= ABI_MAX_USER_FRAMES)
		return;
	walk->nr = ABI_MAX_USER_FRAMES;
	bpf_probe_read_kernel(scratch->window, len_bytes, ring);
	bpf_probe_read_kernel(scratch->window + ABI_RING_FRAMES, len_bytes, ring);
	bpf_probe_read_kernel(ring, len_bytes, scratch->window + oldest);
	ring[0] = ABI_IP_ELIDED;
}

_Static_assert(2 * ABI_RING_FRAMES <= WINDOW_WORDS, "the ring fits twice into the window");
_Static_assert(!(ABI_RING_FRAMES & (ABI_RING_FRAMES - 1)) && ABI_LEAF_FRAMES == ABI_RING_FRAMES &&
		       !(ABI_MAX_KERNEL_FRAMES & (ABI_MAX_KERNEL_FRAMES + 1)),
	       "indices are masked");

__hidden void unwind_user(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);

	if (!scratch)
		return;
	scratch->walk.slot = slot;
	unwind_push(scratch, scratch->walk.ip);
	if (tables_enter(&scratch->walk, scratch->record.tgid))
		walk_on(slot, &scratch->walk);
	else
		scratch->walk.end = ABI_END_UNKNOWN_CODE;
	elide(scratch);
}
