// SPDX-License-Identifier: BSD-2-Clause
/*
 * Most instructions change nothing here. Those that do are few: stores and loads of x29 and x30, what moves sp, and what sets
 * x29. A frame too large for an immediate takes its size from a register, so one constant is followed.
 */
#include "unwind/a64stack.h"

#include <stdlib.h>

#define WORD	     8
#define CALLER_SAVED 0x7ffffu /* x0 to x18 */

const struct a64stack a64stack_entry = {.sp_known = true, .numbered_reg = A64_NONE};

/* Changes ---------------------------------------------------------------------------------------- */

static void place_sp(struct a64stack *state, bool known, int64_t off)
{
	state->sp_known = known && llabs(off) <= A64STACK_MAX_OFF;
	state->sp_off = state->sp_known ? (int32_t)off : 0;
}

static void place_fp(struct a64stack *state, bool known, int64_t off)
{
	state->fp_known = known && llabs(off) <= A64STACK_MAX_OFF;
	state->fp_off = state->fp_known ? (int32_t)off : 0;
	if (state->fp_how == A64STACK_KEPT)
		state->fp_how = A64STACK_LOST;
}

/* A register gets a value that is not known. */
static void overwrite(struct a64stack *state, uint8_t reg)
{
	if (reg == A64_SP)
		place_sp(state, false, 0);
	if (reg == A64_FP)
		place_fp(state, false, 0);
	if (reg == A64_LR && state->ra_how == A64STACK_KEPT)
		state->ra_how = A64STACK_LOST;
	if (reg == state->numbered_reg) {
		state->numbered_reg = A64_NONE;
		state->number = 0;
	}
}

static void overwrite_all(struct a64stack *state, uint32_t written)
{
	for (; written; written &= written - 1)
		overwrite(state, (uint8_t)__builtin_ctz(written));
}

/* Whether CFA = reg + *off; sets *off. */
static bool counts_from(const struct a64stack *state, uint8_t reg, int64_t *off)
{
	bool is_sp = reg == A64_SP && state->sp_known, is_fp = reg == A64_FP && state->fp_known;

	*off = is_sp ? state->sp_off : state->fp_off;
	return is_sp || is_fp;
}

/* A register becomes another one plus imm. */
static void add(struct a64stack *state, uint8_t to, uint8_t from, int64_t imm)
{
	int64_t off;
	bool known = counts_from(state, from, &off);

	if (to == A64_SP)
		place_sp(state, known, off - imm);
	else if (to == A64_FP)
		place_fp(state, known, off - imm);
	else
		overwrite(state, to);
}

/* Memory ----------------------------------------------------------------------------------------- */

/* Where a load or store begins, as CFA + *at. false: not known. */
static bool place_of(const struct a64stack *state, const struct a64 *in, int64_t *at)
{
	int64_t off;

	if (!counts_from(state, in->rn, &off))
		return false;
	*at = (in->mode == A64_POST ? 0 : in->imm) - off;
	return llabs(*at) <= A64STACK_MAX_OFF;
}

static bool is_word(const struct a64 *in)
{
	return !in->is_vector && in->size_bytes == WORD;
}

void a64stack_save(struct a64stack *state, uint8_t reg, int64_t at)
{
	if (reg == A64_FP && state->fp_how == A64STACK_KEPT) {
		state->fp_how = A64STACK_SAVED;
		state->fp_at = (int32_t)at;
	}
	if (reg == A64_LR && state->ra_how == A64STACK_KEPT) {
		state->ra_how = A64STACK_SAVED;
		state->ra_at = (int32_t)at;
	}
}

static void store(struct a64stack *state, const struct a64 *in)
{
	int64_t at;

	if (!is_word(in) || !place_of(state, in, &at) || at >= 0)
		return;
	a64stack_save(state, in->rd, at);
	if (in->class == A64_STORE_PAIR)
		a64stack_save(state, in->rd2, at + WORD);
}

static void load_one(struct a64stack *state, uint8_t reg, bool known, int64_t at)
{
	overwrite(state, reg);
	if (reg == A64_FP && known && state->fp_how == A64STACK_SAVED && at == state->fp_at) {
		state->fp_how = A64STACK_KEPT;
		state->fp_at = 0;
	}
	if (reg == A64_LR && known && state->ra_how == A64STACK_SAVED && at == state->ra_at) {
		state->ra_how = A64STACK_KEPT;
		state->ra_at = 0;
	}
}

static void load(struct a64stack *state, const struct a64 *in)
{
	int64_t at = 0;
	bool known = is_word(in) && place_of(state, in, &at);

	if (in->is_vector)
		return;
	load_one(state, in->rd, known, at);
	if (in->class == A64_LOAD_PAIR)
		load_one(state, in->rd2, known, at + WORD);
}

/* Instructions ----------------------------------------------------------------------------------- */

static void set_number(struct a64stack *state, const struct a64 *in)
{
	int64_t number = in->imm;

	if (in->class == A64_MOVK) {
		if (in->rd != state->numbered_reg || in->shift > 16)
			return overwrite(state, in->rd);
		number = (state->number & ~(0xffffll << in->shift)) | in->imm << in->shift;
	}
	overwrite(state, in->rd);
	if (in->rd >= A64_FP || number > A64STACK_MAX_OFF || number < -A64STACK_MAX_OFF)
		return;
	state->numbered_reg = in->rd;
	state->number = (int32_t)number;
}

/* sub sp, sp, x12: a frame too large for an immediate. */
static void add_register(struct a64stack *state, const struct a64 *in)
{
	bool is_whole = in->is_64 && !in->shift &&
			(in->extend == A64_LSL || in->extend == A64_SXTX);

	if (in->rd == A64_SP && is_whole && in->rm == state->numbered_reg)
		add(state, A64_SP, in->rn, in->is_not ? -(int64_t)state->number : state->number);
	else
		overwrite_all(state, in->written);
}

void a64stack_apply(struct a64stack *state, const struct a64 *in)
{
	switch (in->class) {
	case A64_STORE:
	case A64_STORE_PAIR:
		store(state, in);
		break;
	case A64_LOAD:
	case A64_LOAD_PAIR:
		load(state, in);
		break;
	case A64_MOV_IMM:
	case A64_MOVK:
		return set_number(state, in);
	case A64_ADD_IMM:
		if (in->is_64)
			return add(state, in->rd, in->rn, in->imm);
		return overwrite_all(state, in->written);
	case A64_ADD_REG:
		return add_register(state, in);
	case A64_BL:
	case A64_BLR:
		return overwrite_all(state, in->written | CALLER_SAVED);
	case A64_SIGN:
	case A64_AUTH:
		if (in->rd == A64_LR)
			return;
		return overwrite_all(state, in->written);
	default:
		return overwrite_all(state, in->written);
	}
	if (in->mode != A64_OFFSET)
		add(state, in->rn, in->rn, in->imm);
}

/* Judgement -------------------------------------------------------------------------------------- */

bool a64stack_is_balanced(const struct a64stack *state)
{
	return state->sp_known && !state->sp_off && state->fp_how == A64STACK_KEPT &&
	       state->ra_how == A64STACK_KEPT;
}

bool a64stack_is_lost(const struct a64stack *state)
{
	return (!state->sp_known && !state->fp_known) || state->fp_how == A64STACK_LOST ||
	       state->ra_how == A64STACK_LOST || (state->sp_known && state->sp_off < 0);
}

bool a64stack_is_broken_by(const struct a64stack *state, const struct a64 *in)
{
	bool is_store = in->class == A64_STORE || in->class == A64_STORE_PAIR;
	int64_t at, limit;

	if (!is_store || !place_of(state, in, &at))
		return false;
	limit = at + in->size_bytes * (in->class == A64_STORE_PAIR ? 2 : 1);
	return (state->ra_how == A64STACK_SAVED && at <= state->ra_at && limit > state->ra_at) ||
	       (state->fp_how == A64STACK_SAVED && at <= state->fp_at && limit > state->fp_at);
}

bool a64stack_rule(const struct a64stack *state, struct unwind_rule *rule)
{
	struct unwind_rule found = {.kind = UNWIND_FRAME};
	bool is_saved = state->fp_how == A64STACK_SAVED;

	if (a64stack_is_lost(state))
		return false;
	found.cfa_reg = state->sp_known ? A64_SP : A64_FP;
	found.cfa_off = state->sp_known ? state->sp_off : state->fp_off;
	found.fp_off = is_saved ? state->fp_at : 0;
	found.ra_off = A64_LR;
	if (state->ra_how == A64STACK_SAVED) {
		found.ra_off = (int16_t)state->ra_at;
		if (found.ra_off != state->ra_at)
			return false;
	}
	found.how =
		unwind_how_pack(is_saved ? UNWIND_AT_CFA : UNWIND_SAME,
				state->ra_how == A64STACK_SAVED ? UNWIND_AT_CFA : UNWIND_IN_REG);
	*rule = found;
	return true;
}
