/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * arm64's part of unwind_abi.h: the numbers of registers, and what the 20 bits of a rule say. Instructions are words: a row's
 * pc counts them, and a page of text has 16 KB.
 *
 *	 19  18  17           9 8            0
 *	+---+---+--------------+--------------+
 *	| 0 | B |  CFA off/16  |  pair's slot |   inline rule (over 99 %)
 *	+---+---+--------------+--------------+
 *
 *	B	0: CFA = sp + off, 1: CFA = x29 + off
 *	slot	0: the return address is in lr, the caller's x29 is this frame's
 *		n: the caller's x29 is stored at CFA - 8*n, the return address behind it
 *
 * Such a pair is what x29 points to, in all frames but those that are being made or left. So where a step by x29 alone has lost
 * sp (it is 0 then), the next rule that tells of a pair finds it again: CFA = x29 + 8*n.
 *
 * The extra register is x30, lr. It is known in the leaf frame and where a signal interrupted a function; in no other caller is it
 * of use. Return addresses may be signed: who steps strips them.
 */
#ifndef CPROF_ARCH_ARM64_RULE_H
#define CPROF_ARCH_ARM64_RULE_H

#include "unwind_abi.h"

#define ARM64_PAGE_SHIFT 14
#define ARM64_PC_SHIFT	 2

#define ARM64_RULE_BASE_FP   (1u << 18)
#define ARM64_RULE_CFA_SHIFT 9
#define ARM64_RULE_CFA_MASK  0x1ffu
#define ARM64_RULE_SLOT_MASK 0x1ffu

/* DWARF's register numbers (AADWARF64). */
#define ARM64_REG_FP  29
#define ARM64_REG_LR  30
#define ARM64_REG_SP  31
#define ARM64_NR_REGS 32

_Static_assert(UNWIND_PC_SHIFT + ARM64_PAGE_SHIFT - ARM64_PC_SHIFT == 32, "a row is 32 bits");
_Static_assert(UNWIND_PAGE_MAX_ROWS == 1 << (ARM64_PAGE_SHIFT - ARM64_PC_SHIFT),
	       "one at each instruction");
_Static_assert(ARM64_NR_REGS <= UNWIND_NR_REGS, "a rule can name them all");

/* HotSpot's rmethod is x12, its rbcp x22. */
static const struct unwind_machine arm64_machine = {
	.nr_regs = ARM64_NR_REGS,
	.fp = ARM64_REG_FP,
	.sp = ARM64_REG_SP,
	.extra = ARM64_REG_LR,
	.method = 12,
	.bcp = 22,
	.page_shift = ARM64_PAGE_SHIFT,
	.pc_shift = ARM64_PC_SHIFT,
	.has_link = 1,
};

/* The fields of an inline rule in bytes. */
static inline __u32 arm64_rule_cfa_off(__u32 rule)
{
	return (rule >> ARM64_RULE_CFA_SHIFT & ARM64_RULE_CFA_MASK) * 16;
}

static inline __u32 arm64_rule_slot(__u32 rule)
{
	return (rule & ARM64_RULE_SLOT_MASK) * 8;
}

/* How many bytes below the CFA a pair is; 0: the rule has no pair that 9 bits can say. */
static inline __u32 arm64_pair_slot(const struct unwind_rule *rule)
{
	__u32 slot = 0u - (__u32)rule->fp_off;

	if (unwind_fp_how(rule) != UNWIND_AT_CFA || unwind_ra_how(rule) != UNWIND_AT_CFA ||
	    rule->ra_off != rule->fp_off + 8 || slot % 8 || slot / 8 > ARM64_RULE_SLOT_MASK)
		return 0;
	return slot;
}

/* The 20 bits of a rule that fits, UNWIND_RULE_EXTENDED for one that does not. */
static inline __u32 arm64_rule_pack(const struct unwind_rule *rule)
{
	__u32 base = rule->cfa_reg == ARM64_REG_FP ? ARM64_RULE_BASE_FP : 0;
	__u32 cfa = (__u32)rule->cfa_off / 16, slot = arm64_pair_slot(rule);
	int is_leaf = unwind_fp_how(rule) == UNWIND_SAME && unwind_ra_how(rule) == UNWIND_IN_REG &&
		      rule->ra_off == ARM64_REG_LR;

	if (rule->kind != UNWIND_FRAME || (!slot && !is_leaf) ||
	    (!base && rule->cfa_reg != ARM64_REG_SP) || rule->cfa_off % 16 != 0 ||
	    cfa > ARM64_RULE_CFA_MASK || rule->extra_slot != 0 || rule->deref_off != 0)
		return UNWIND_RULE_EXTENDED;
	return base | cfa << ARM64_RULE_CFA_SHIFT | slot / 8;
}

/* An inline rule in full. It is the same at every pc of its row. */
static inline struct unwind_rule arm64_rule_unpack(__u32 packed, __u32 pc_delta)
{
	__s32 slot = (__s32)arm64_rule_slot(packed);
	struct unwind_rule rule = {
		.kind = UNWIND_FRAME,
		.cfa_reg = packed & ARM64_RULE_BASE_FP ? ARM64_REG_FP : ARM64_REG_SP,
		.how = slot ? unwind_how_pack(UNWIND_AT_CFA, UNWIND_AT_CFA)
			    : unwind_how_pack(UNWIND_SAME, UNWIND_IN_REG),
		.cfa_off = (__s32)arm64_rule_cfa_off(packed),
		.fp_off = -slot,
		.ra_off = (__s16)(slot ? 8 - slot : ARM64_REG_LR),
	};

	(void)pc_delta;
	return rule;
}

/* Where the kernel's frame for a handler has the interrupted registers, from sp on, in all versions: it is ABI. */
static inline struct unwind_rule arm64_signal_rule(void)
{
	struct unwind_rule rule = {
		.kind = UNWIND_SIGNAL,
		.cfa_reg = ARM64_REG_SP,
		.how = unwind_how_pack(UNWIND_AT_SP, UNWIND_AT_SP),
		.cfa_off = 560,
		.fp_off = 544,
		.ra_off = 568,
		.deref_off = 552,
	};

	return rule;
}

#endif
