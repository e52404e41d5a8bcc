/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * x86-64's part of unwind_abi.h: the numbers of registers, and what the 20 bits of a rule say. Text is cut into pages of
 * 4 KB, and a row's pc counts bytes.
 *
 *	 19  18  17          9 8        4  3   2  1   0
 *	+---+---+-------------+----------+---+---+-----+
 *	| 0 | B |  CFA off/8  | fp slot  | D | W |  N  |   inline rule (over 99 %)
 *	+---+---+-------------+----------+---+---+-----+
 *
 *	B        0: CFA = sp + off, 1: CFA = fp + off; the return address is at CFA-8
 *	fp slot  0: the caller's rbp is this frame's; n: it is stored at CFA - 8*(n+1)
 *	N, W, D  a run: N more rows (0 to 3) in this one, 1 << W bytes apart, each with a CFA offset
 *	         that is 8 more than the one before, or (D) 8 less
 *
 * Runs are what pushes and pops of registers leave, one or two bytes of code each. They are exact:
 * at pc, min((pc - row's pc) >> W, N) steps have been made. They save nearly half of libLLVM's
 * rows.
 *
 * The extra register is rbx. It is tracked only in tables that have a CFA counted from rbx, which is ld.so's lazy binding
 * (_dl_runtime_resolve): there nearly all rules are extended, everywhere else extra_slot is 0.
 */
#ifndef CPROF_ARCH_X86_RULE_H
#define CPROF_ARCH_X86_RULE_H

#include "unwind_abi.h"

#define X86_PAGE_SHIFT 12
#define X86_PAGE_BYTES (1u << X86_PAGE_SHIFT)

#define X86_RULE_BASE_FP      (1u << 18)
#define X86_RULE_CFA_SHIFT    9
#define X86_RULE_CFA_MASK     0x1ffu
#define X86_RULE_FP_SHIFT     4
#define X86_RULE_FP_MASK      0x1fu
#define X86_RULE_RUN_DOWN     8u
#define X86_RULE_RUN_EXTENDED 4u
#define X86_RULE_RUN_MASK     3u

/* DWARF's register numbers on x86-64 (psABI figure 3.36). */
#define X86_REG_AX  0
#define X86_REG_BX  3
#define X86_REG_FP  6
#define X86_REG_SP  7
#define X86_REG_BCP 13
#define X86_NR_REGS 16

_Static_assert(UNWIND_PC_SHIFT + X86_PAGE_SHIFT == 32, "a row is 32 bits");
_Static_assert(UNWIND_PAGE_MAX_ROWS == X86_PAGE_BYTES, "one at each byte");
_Static_assert((X86_RULE_CFA_MASK << X86_RULE_CFA_SHIFT) == (X86_RULE_BASE_FP - 1) - 0x1ff,
	       "the CFA field ends below the base bit");

static const struct unwind_machine x86_machine = {
	.nr_regs = X86_NR_REGS,
	.fp = X86_REG_FP,
	.sp = X86_REG_SP,
	.extra = X86_REG_BX,
	.method = X86_REG_BX,
	.bcp = X86_REG_BCP,
	.page_shift = X86_PAGE_SHIFT,
};

/* The fields of an inline rule, in bytes and ready to use. */
static inline __u32 x86_rule_cfa_off(__u32 rule)
{
	return (rule >> X86_RULE_CFA_SHIFT & X86_RULE_CFA_MASK) * 8;
}

/*
 * The same at a pc that is pc_delta bytes after the row's. Without branches: the verifier would have to
 * follow each both ways through all that is computed from the offset.
 */
static inline __u64 x86_rule_cfa_off_at(__u32 rule, __u32 pc_delta)
{
	__u64 nr = rule & X86_RULE_RUN_MASK, down = rule / X86_RULE_RUN_DOWN & 1;
	__u64 steps = pc_delta >> (rule / X86_RULE_RUN_EXTENDED & 1), is_beyond = nr - steps;

	UNWIND_OPAQUE(is_beyond);
	is_beyond >>= 63;
	UNWIND_OPAQUE(is_beyond);
	UNWIND_OPAQUE(down);
	steps -= is_beyond * (steps - nr);
	return x86_rule_cfa_off(rule) + 8 * steps - 16 * steps * down;
}

static inline __u32 x86_rule_fp_slot(__u32 rule)
{
	return rule >> X86_RULE_FP_SHIFT & X86_RULE_FP_MASK;
}

/* How far below the CFA a slot is. fp_slot != 0. */
static inline __u32 x86_fp_slot_bytes(__u32 fp_slot)
{
	return (fp_slot + 1) * 8;
}

/* The 20 bits of a rule that fits (without a run), UNWIND_RULE_EXTENDED for one that does not. */
static inline __u32 x86_rule_pack(const struct unwind_rule *rule)
{
	__u32 base = rule->cfa_reg == X86_REG_FP ? X86_RULE_BASE_FP : 0;
	__u32 cfa = (__u32)rule->cfa_off / 8, slot = 0;

	if (rule->kind != UNWIND_FRAME || unwind_ra_how(rule) != UNWIND_AT_CFA ||
	    rule->ra_off != -8 || (!base && rule->cfa_reg != X86_REG_SP) ||
	    rule->cfa_off % 8 != 0 || cfa > X86_RULE_CFA_MASK || rule->extra_slot != 0)
		return UNWIND_RULE_EXTENDED;
	if (unwind_fp_how(rule) == UNWIND_AT_CFA) {
		slot = (0u - (__u32)rule->fp_off) / 8 - 1; /* wraps for what is out of range */
		if (rule->fp_off % 8 != 0 || slot == 0 || slot > X86_RULE_FP_MASK)
			return UNWIND_RULE_EXTENDED;
	} else if (unwind_fp_how(rule) != UNWIND_SAME) {
		return UNWIND_RULE_EXTENDED;
	}
	return base | cfa << X86_RULE_CFA_SHIFT | slot << X86_RULE_FP_SHIFT;
}

/* An inline rule in full, at a pc that is pc_delta bytes after its row's. */
static inline struct unwind_rule x86_rule_unpack(__u32 packed, __u32 pc_delta)
{
	__u32 slot = x86_rule_fp_slot(packed);
	struct unwind_rule rule = {
		.kind = UNWIND_FRAME,
		.cfa_reg = packed & X86_RULE_BASE_FP ? X86_REG_FP : X86_REG_SP,
		.how = unwind_how_pack(slot ? UNWIND_AT_CFA : UNWIND_SAME, UNWIND_AT_CFA),
		.cfa_off = (__s32)x86_rule_cfa_off_at(packed, pc_delta),
		.fp_off = slot ? -(__s32)x86_fp_slot_bytes(slot) : 0,
		.ra_off = -8,
	};

	return rule;
}

#endif
