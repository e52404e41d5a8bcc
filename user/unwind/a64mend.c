// SPDX-License-Identifier: BSD-2-Clause
/*
 * From each return and tail call the code is read backwards, while it is clear what sp, x29 and x30 were before an instruction:
 *
 *	ldp  x20, x19, [sp, #16]	CFA = sp + 32, x29 at CFA - 32: what the rule in force says, so here it is right
 *	ldp  x29, x30, [sp], #32	the same
 *	ret				CFA = sp, x29 and x30 are the caller's: a row is added
 *
 * clang 14 does not say how a frame is made, either, only that it has been: there code is read forwards, from the last branch on.
 *
 * Where that never comes to what the rule says, nothing is added: the end of a function that does not undo its frame, or whose code
 * is not understood.
 */
#include "unwind/a64mend.h"

#include <string.h>

#include "base/alloc.h"
#include "unwind/a64stack.h"

#define WORD	      8
#define MOST_BACK     24	 /* instructions that undo a frame, and what stands between them */
#define MOST_BYTES    (1u << 20) /* of a rule's code; more is left as it is */
#define PADDING_BYTES 16
#define NUMBER_REG    8 /* of a system call */

enum {
	CLONE = 220,
	CLONE3 = 435
};

void a64mend_open(struct a64mend *mend, const struct elf_file *file, cfa_row_fn emit, void *ctx)
{
	*mend = (struct a64mend){.file = file, .emit = emit, .ctx = ctx};
}

/* Backwards -------------------------------------------------------------------------------------- */

static bool unload(struct a64stack *state, const struct a64 *in)
{
	int64_t at;

	if (in->rn != A64_SP || !state->sp_known)
		return !(in->written & (1u << A64_FP | 1u << A64_LR | 1u << A64_SP));
	if (in->mode != A64_OFFSET)
		state->sp_off += (int32_t)in->imm;
	at = (in->mode == A64_POST ? 0 : in->imm) - state->sp_off;
	if (in->is_vector)
		return true;
	if (in->size_bytes != WORD)
		return !(in->written & (1u << A64_FP | 1u << A64_LR));
	a64stack_save(state, in->rd, at);
	if (in->class == A64_LOAD_PAIR)
		a64stack_save(state, in->rd2, at + WORD);
	return true;
}

/* The state after an instruction becomes the one before it. false: that is not known. */
static bool undo(struct a64stack *state, const struct a64 *in)
{
	if (a64_is_end(in))
		return false;
	switch (in->class) {
	case A64_LOAD:
	case A64_LOAD_PAIR:
		return unload(state, in);
	case A64_ADD_IMM:
		if (in->rd != A64_SP)
			break;
		if (!in->is_64 || !state->sp_known)
			return false;
		state->sp_off += (int32_t)in->imm;
		if (in->rn == A64_FP) {
			state->sp_known = false;
			state->fp_known = true;
			state->fp_off = state->sp_off;
		}
		return in->rn == A64_SP || in->rn == A64_FP;
	case A64_SIGN:
	case A64_AUTH:
		return true;
	}
	return !(in->written & (1u << A64_FP | 1u << A64_LR | 1u << A64_SP));
}

/* Whether the rule says the same of the caller as the state does. */
static bool is_said(const struct unwind_rule *rule, const struct a64stack *state)
{
	bool fp_saved = state->fp_how == A64STACK_SAVED, ra_saved = state->ra_how == A64STACK_SAVED;

	if (fp_saved != (unwind_fp_how(rule) == UNWIND_AT_CFA) ||
	    (fp_saved && state->fp_at != rule->fp_off) ||
	    ra_saved != (unwind_ra_how(rule) == UNWIND_AT_CFA) ||
	    (ra_saved && state->ra_at != rule->ra_off))
		return false;
	if (rule->cfa_reg == A64_SP)
		return state->sp_known && state->sp_off == rule->cfa_off;
	if (state->fp_known)
		return state->fp_off == rule->cfa_off;
	return fp_saved && rule->cfa_off == -(int64_t)state->fp_at; /* x29 is where it is saved */
}

/* Rows ------------------------------------------------------------------------------------------- */

static bool is_entry(const struct unwind_rule *rule)
{
	return rule->cfa_reg == A64_SP && !rule->cfa_off && unwind_fp_how(rule) == UNWIND_SAME;
}

/* Whether a path may end well with this word: ret, retaa, b, br. */
static bool is_end_word(uint32_t word)
{
	return (word & 0xfffff3ff) == 0xd65f03c0 || (word & 0xfffffbff) == 0xd65f0bff ||
	       word >> 26 == 5 || (word & 0xfffffc1f) == 0xd61f0000;
}

/* The rows from where the frame begins to be undone up to its end at word number `end` of the rule's code. */
static void mend_end(struct a64mend *mend, uint32_t first, uint32_t end, uint32_t nr_words)
{
	struct a64stack before[MOST_BACK + 1];
	struct a64stack state = a64stack_entry;
	struct unwind_row row = {0};
	uint32_t nr = 0;

	while (!is_said(&mend->row.rule, &state)) {
		struct a64 in;

		if (nr > MOST_BACK || end - first < nr + 1)
			return;
		before[nr++] = state;
		in = a64_decode(a64_word(&mend->bytes.at[(end - nr) * A64_BYTES]));
		if (!undo(&state, &in))
			return;
	}
	while (nr-- > 0) {
		struct unwind_rule rule;

		if (!a64stack_rule(&before[nr], &rule) || !memcmp(&rule, &row.rule, sizeof(rule)))
			continue;
		row = (struct unwind_row){mend->row.elf_addr + (uint64_t)(end - nr) * A64_BYTES,
					  rule};
		mend->emit(mend->ctx, &row);
	}
	if (end + 1 < nr_words && row.elf_addr)
		mend->emit(mend->ctx,
			   &(struct unwind_row){mend->row.elf_addr + (end + 1ull) * A64_BYTES,
						mend->row.rule});
}

/* The code of the row that waits, up to limit, is in mend->bytes. false: there is none, or too much. */
static bool read_code(struct a64mend *mend, uint64_t limit)
{
	uint64_t len_bytes = limit - mend->row.elf_addr;

	if (mend->row.elf_addr % A64_BYTES || len_bytes < A64_BYTES || len_bytes > MOST_BYTES)
		return false;
	vec_reserve(&mend->bytes, len_bytes);
	return elf_file_read(mend->file, mend->row.elf_addr, mend->bytes.at, len_bytes);
}

/* What a rule by sp says. */
static struct a64stack state_of(const struct unwind_rule *rule)
{
	struct a64stack state = a64stack_entry;

	state.sp_off = rule->cfa_off;
	if (unwind_fp_how(rule) == UNWIND_AT_CFA) {
		state.fp_how = A64STACK_SAVED;
		state.fp_at = rule->fp_off;
	}
	if (unwind_ra_how(rule) == UNWIND_AT_CFA) {
		state.ra_how = A64STACK_SAVED;
		state.ra_at = rule->ra_off;
	}
	return state;
}

/* How many instructions before the end of the rule's code are run one after the other, and call nothing. */
static uint32_t nr_straight(const struct a64mend *mend, uint32_t nr_words)
{
	uint32_t nr = 0;

	while (nr < nr_words && nr < MOST_BACK) {
		struct a64 in =
			a64_decode(a64_word(&mend->bytes.at[(nr_words - nr - 1) * A64_BYTES]));

		if (a64_is_end(&in) || a64_is_relative_branch(&in) || in.class == A64_BLR)
			break;
		nr++;
	}
	return nr;
}

/* The rows from where a frame begins to be made up to where it is said at last, by next. */
static void mend_begin(struct a64mend *mend, uint32_t nr_words, const struct unwind_rule *next)
{
	struct a64stack state = state_of(&mend->row.rule), after = state;
	struct unwind_rule in_force = mend->row.rule;
	uint32_t from = nr_words - nr_straight(mend, nr_words);

	for (uint32_t i = from; i < nr_words; i++) {
		struct a64 in = a64_decode(a64_word(&mend->bytes.at[i * A64_BYTES]));

		a64stack_apply(&after, &in);
	}
	if (!is_said(next, &after))
		return;
	for (uint32_t i = from; i < nr_words; i++) {
		struct a64 in = a64_decode(a64_word(&mend->bytes.at[i * A64_BYTES]));
		struct unwind_rule rule = in_force;

		if (!a64stack_rule(&state, &rule))
			return;
		if (memcmp(&rule, &in_force, sizeof(rule)) != 0)
			mend->emit(mend->ctx,
				   &(struct unwind_row){
					   mend->row.elf_addr + (uint64_t)i * A64_BYTES, rule});
		in_force = rule;
		a64stack_apply(&state, &in);
	}
}

/* Emits the row that waits, and what its code needs more. next: the rule at limit; NULL: a gap is there. */
static void emit_row(struct a64mend *mend, uint64_t limit, const struct unwind_rule *next)
{
	uint32_t nr_words = (uint32_t)((limit - mend->row.elf_addr) / A64_BYTES), first = 0;
	bool has_end = !is_entry(&mend->row.rule);
	bool has_begin = next && next->kind == UNWIND_FRAME && !is_entry(next) &&
			 mend->row.rule.cfa_reg == A64_SP;

	mend->emit(mend->ctx, &mend->row);
	if (mend->row.rule.kind != UNWIND_FRAME || (!has_end && !has_begin) ||
	    !read_code(mend, limit))
		return;
	for (uint32_t i = 0; has_end && i < nr_words; i++) {
		if (!is_end_word(a64_word(&mend->bytes.at[i * A64_BYTES])))
			continue;
		mend_end(mend, first, i, nr_words);
		first = i + 1;
	}
	if (has_begin)
		mend_begin(mend, nr_words, next);
}

/* Whether the system call at offset is clone or clone3, by the last number that x8 was given before it. */
static bool is_clone(const struct a64mend *mend, uint64_t offset)
{
	uint64_t least = offset > MOST_BACK * A64_BYTES ? offset - MOST_BACK * A64_BYTES : 0;

	for (uint64_t i = offset; i > least; i -= A64_BYTES) {
		struct a64 in = a64_decode(a64_word(&mend->bytes.at[i - A64_BYTES]));

		if (in.written & 1u << NUMBER_REG)
			return in.class == A64_MOV_IMM && (in.imm == CLONE || in.imm == CLONE3);
	}
	return false;
}

/* Another function begins, which has no caller: the row that waits may be of what starts it. */
static void emit_clone(struct a64mend *mend, uint64_t limit)
{
	const uint32_t svc = 0xd4000001;
	uint64_t addr = mend->row.elf_addr;

	mend->emit(mend->ctx, &mend->row);
	if (mend->row.rule.kind != UNWIND_FRAME || !is_entry(&mend->row.rule) ||
	    !read_code(mend, limit))
		return;
	for (uint64_t i = 0; i + A64_BYTES < limit - addr; i += A64_BYTES) {
		if (a64_word(&mend->bytes.at[i]) != svc || !is_clone(mend, i))
			continue;
		mend->emit(mend->ctx,
			   &(struct unwind_row){addr + i + A64_BYTES, {.kind = UNWIND_CLONE}});
		return;
	}
}

static void flush(struct a64mend *mend, const struct unwind_row *next)
{
	uint64_t limit = mend->has_gap ? mend->gap.elf_addr : next->elf_addr;

	if (mend->has_row && next->rule.kind == UNWIND_ROOT && is_entry(&mend->row.rule) &&
	    next->elf_addr - limit < PADDING_BYTES)
		emit_clone(mend, limit);
	else if (mend->has_row)
		emit_row(mend, limit, mend->has_gap ? NULL : &next->rule);
	if (mend->has_gap)
		mend->emit(mend->ctx, &mend->gap);
	mend->has_row = mend->has_gap = false;
}

/* clang 19 says one instruction late that x29 and x30 are the caller's: they are not below sp, where a signal may write. */
static bool is_undone(const struct unwind_rule *rule)
{
	return rule->kind == UNWIND_FRAME && rule->cfa_reg == A64_SP && !rule->cfa_off &&
	       unwind_fp_how(rule) == UNWIND_AT_CFA && unwind_ra_how(rule) == UNWIND_AT_CFA &&
	       rule->fp_off < 0 && rule->ra_off < 0;
}

void a64mend_row(void *ctx, const struct unwind_row *row)
{
	struct a64mend *mend = ctx;

	if (row->rule.kind == UNWIND_GAP && mend->has_row && !mend->has_gap) {
		mend->gap = *row;
		mend->has_gap = true;
		return;
	}
	flush(mend, row);
	mend->row = *row;
	mend->has_row = true;
	if (is_undone(&row->rule))
		a64stack_rule(&a64stack_entry, &mend->row.rule);
}

void a64mend_close(struct a64mend *mend)
{
	const struct unwind_row end = {.elf_addr = mend->row.elf_addr};

	if (mend->has_gap)
		flush(mend, &mend->gap);
	else if (mend->has_row)
		flush(mend, &end);
	vec_release(&mend->bytes);
}
