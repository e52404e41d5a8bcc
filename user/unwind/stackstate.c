// SPDX-License-Identifier: BSD-2-Clause
/*
 * A state holds up to four ways to find the CFA at once: from sp, from rbp, from one other register (an
 * alias), and from a word of the stack that holds an old sp (the home). An instruction that destroys one
 * may leave the others, and a rule is made from the best that is left.
 *
 * Offsets beyond STACKSTATE_MAX_OFF make a way unknown, so that hostile code cannot overflow them.
 */
#include "unwind/stackstate.h"

#include <stdlib.h>

#define NO_REG	STACKSTATE_NO_REG
#define MAX_OFF STACKSTATE_MAX_OFF
#define WORD	8

/* States ----------------------------------------------------------------------------------------- */

const struct stackstate stackstate_entry = {
	.sp_known = true,
	.sp_off = WORD,
	.alias = NO_REG,
	.ra_reg = NO_REG,
	.fp_how = UNWIND_SAME,
};

const struct stackstate stackstate_sender_entry = {
	.alias = STACKSTATE_SENDER_REG,
	.ra_reg = NO_REG,
	.ra_by_sp = true,
	.fp_how = UNWIND_SAME,
};

const struct stackstate stackstate_interpreted = {
	.interpreted = true,
	.alias = NO_REG,
	.ra_reg = NO_REG,
};

struct stackstate stackstate_body(uint32_t frame_bytes)
{
	struct stackstate state = stackstate_entry;

	state.sp_off = (int32_t)frame_bytes;
	state.fp_how = UNWIND_AT_CFA;
	state.fp_off = -2 * WORD;
	return state;
}

bool stackstate_has_base(const struct stackstate *state)
{
	return state->interpreted || state->sp_known || state->fp_known || state->home_known ||
	       state->alias != NO_REG;
}

/* Changes ---------------------------------------------------------------------------------------- */

void stackstate_grow(struct stackstate *state, int64_t len_bytes)
{
	if (len_bytes > MAX_OFF || len_bytes < -MAX_OFF ||
	    llabs(state->sp_off + len_bytes) > MAX_OFF ||
	    llabs(state->ra_off + len_bytes) > MAX_OFF ||
	    llabs(state->home_off + len_bytes) > MAX_OFF ||
	    llabs(state->fp_off + len_bytes) > MAX_OFF) {
		state->sp_known = state->home_known = state->ra_by_sp = false;
		return;
	}
	state->sp_off += len_bytes;
	state->home_off += len_bytes;
	if (state->ra_by_sp)
		state->ra_off += len_bytes;
	if (state->fp_how == UNWIND_AT_SP)
		state->fp_off += len_bytes;
}

/* sp is set to where the CFA is CFA = sp + off. */
static void place_sp(struct stackstate *state, int64_t off)
{
	if (state->fp_how == UNWIND_AT_SP)
		state->fp_how = UNWIND_LOST;
	state->home_known = state->ra_by_sp = false;
	state->sp_known = llabs(off) <= MAX_OFF;
	state->sp_off = (int32_t)off;
}

void stackstate_lose_sp(struct stackstate *state)
{
	place_sp(state, 0);
	state->sp_known = false;
}

void stackstate_overwrite(struct stackstate *state, uint8_t reg)
{
	if (reg == X86_REG_SP)
		stackstate_lose_sp(state);
	if (reg == X86_REG_FP) {
		state->fp_known = state->interpreted = false;
		if (state->fp_how == UNWIND_SAME)
			state->fp_how = UNWIND_LOST;
	}
	if (reg == state->alias)
		state->alias = NO_REG;
	/* What is popped into a register stays where it was popped from, for a while. */
	if (reg == state->ra_reg)
		state->ra_reg = NO_REG;
}

void stackstate_set_register(struct stackstate *state, uint8_t reg, bool known, int64_t off)
{
	if (reg == X86_REG_SP) {
		if (known)
			place_sp(state, off);
		else
			stackstate_lose_sp(state);
		return;
	}
	stackstate_overwrite(state, reg);
	if (!known || llabs(off) > MAX_OFF)
		return;
	if (reg == X86_REG_FP) {
		state->fp_known = true;
		state->frame_off = (int32_t)off;
	} else {
		state->alias = reg;
		state->alias_off = (int32_t)off;
	}
}

bool stackstate_counts_from(const struct stackstate *state, uint8_t reg, int64_t *off)
{
	if (reg == X86_REG_SP && state->sp_known)
		*off = state->sp_off;
	else if (reg == X86_REG_FP && state->fp_known)
		*off = state->frame_off;
	else if (reg != NO_REG && reg == state->alias)
		*off = state->alias_off;
	else
		return false;
	return true;
}

/* Rules ------------------------------------------------------------------------------------------ */

static struct unwind_rule interpreted_rule(void)
{
	return (struct unwind_rule){
		.kind = UNWIND_DEREF,
		.cfa_reg = X86_REG_FP,
		.cfa_off = -WORD,
		.how = unwind_how_pack(UNWIND_AT_FP, UNWIND_AT_FP),
		.ra_off = WORD,
	};
}

/* Chooses the base of the CFA: what stays known for the longest. false: nothing is known. */
static bool choose_base(const struct stackstate *state, bool prefer_fp, struct unwind_rule *rule)
{
	if (state->fp_known && (prefer_fp || !state->sp_known)) {
		rule->kind = UNWIND_FRAME;
		rule->cfa_reg = X86_REG_FP;
		rule->cfa_off = state->frame_off;
	} else if (state->sp_known) {
		rule->kind = UNWIND_FRAME;
		rule->cfa_reg = X86_REG_SP;
		rule->cfa_off = state->sp_off;
	} else if (state->home_known && state->home_deref == (int16_t)state->home_deref) {
		rule->kind = UNWIND_DEREF;
		rule->cfa_reg = X86_REG_SP;
		rule->cfa_off = state->home_off;
		rule->deref_off = (int16_t)state->home_deref;
	} else if (state->alias != NO_REG) {
		rule->kind = UNWIND_FRAME;
		rule->cfa_reg = state->alias;
		rule->cfa_off = state->alias_off;
	} else {
		return false;
	}
	return true;
}

/* Chooses where the return address is. false: it is farther than a rule can express. */
static bool choose_ra(const struct stackstate *state, uint32_t *how, struct unwind_rule *rule)
{
	int32_t off = -WORD;

	*how = UNWIND_AT_CFA;
	if (state->ra_reg != NO_REG) {
		*how = UNWIND_IN_REG;
		off = state->ra_reg;
	} else if (state->ra_by_sp) {
		*how = UNWIND_AT_SP;
		off = state->ra_off;
	}
	rule->ra_off = (int16_t)off;
	return rule->ra_off == off;
}

bool stackstate_rule(const struct stackstate *state, bool prefer_fp, struct unwind_rule *rule)
{
	struct unwind_rule found = {0};
	uint32_t ra_how;

	if (state->interpreted) {
		*rule = interpreted_rule();
		return true;
	}
	if (!choose_base(state, prefer_fp, &found) || !choose_ra(state, &ra_how, &found))
		return false;
	found.how = unwind_how_pack(state->fp_how, ra_how);
	if (state->fp_how == UNWIND_AT_CFA || state->fp_how == UNWIND_AT_SP)
		found.fp_off = state->fp_off;
	*rule = found;
	return true;
}
