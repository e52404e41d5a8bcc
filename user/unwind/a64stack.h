/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known about the stack before an instruction (arm64), how instructions change it, and its unwind rule. Offsets are
 * bytes. Private to a64flow.c, a64path.c, a64mend.c and a64jit.c, which follow code.
 *
 * A call leaves the return address in x30 (lr), so at a function's entry the CFA is sp. A frame record is a pair of the caller's
 * x29 and x30 anywhere in the frame; mostly at its bottom, with x29 set to it.
 */
#ifndef CPROF_UNWIND_A64STACK_H
#define CPROF_UNWIND_A64STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "object/a64.h"
#include "unwind_abi.h"

#define A64STACK_MAX_OFF (1 << 24) /* of any offset; beyond it the state is unknown */

/* Where the caller's x29 or the return address is. */
enum a64stack_how {
	A64STACK_KEPT,	/* in x29 or x30 itself */
	A64STACK_SAVED, /* in memory at CFA + *_at */
	A64STACK_LOST,
};

/* Zeroed but for sp_known: at a function's entry. */
struct a64stack {
	bool sp_known, fp_known;
	uint8_t fp_how, ra_how; /* enum a64stack_how */
	int32_t sp_off;		/* CFA = sp + sp_off */
	int32_t fp_off;		/* CFA = x29 + fp_off */
	int32_t fp_at, ra_at;	/* negative */
	int32_t number; /* what numbered_reg holds, if that is not A64_NONE: a frame's size, a system call */
	uint32_t numbered_reg;
};

/* States are compared as bytes. */
_Static_assert(sizeof(struct a64stack) == 4 + 6 * 4, "no padding");

/* At a function's entry. */
extern const struct a64stack a64stack_entry;

/* Changes the state before an instruction (not a jump or return) to the one after it; after a call's return. */
void a64stack_apply(struct a64stack *state, const struct a64 *in);
/* The caller's x29 or lr, if it is reg and still there, is at CFA + at, too. Other registers are ignored. */
void a64stack_save(struct a64stack *state, uint8_t reg, int64_t at);

/* Whether the stack, x29 and x30 are as they were at the entry. */
bool a64stack_is_balanced(const struct a64stack *state);
/* Whether the caller cannot be found, or is not the function's own business any more: sp is above the CFA. */
bool a64stack_is_lost(const struct a64stack *state);
/* Whether the instruction writes over what is saved of the caller. */
bool a64stack_is_broken_by(const struct a64stack *state, const struct a64 *in);

/* The unwind rule: by sp where that is known, else by x29. false: there is none. */
bool a64stack_rule(const struct a64stack *state, struct unwind_rule *rule);

#endif
