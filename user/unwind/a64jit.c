// SPDX-License-Identifier: BSD-2-Clause
/*
 * stackflow.c says how it is done; here instructions are words, and most frames are what a64stack.h knows:
 *
 *	sub sp, sp, #64; stp x29, x30, [sp, #48] ... ldp x29, x30, [sp, #48]; add sp, sp, #64; ret
 *
 * Where two paths meet the first to come is right, and what no path leads to is a frame's body.
 *
 * A method of the interpreter passes through these phases, between which its instructions do anything:
 *
 *	SENDER		CFA = x13, ra in lr		entered; stores what a frame has below sp
 *	MAKING		CFA = x13, ra at x29 + 8	add x29, sp, #80, behind stp x29, x30, [sp, #80]
 *	INTERPRETED	CFA = *(x29 - 8), ra at x29 + 8	stp xzr, x13, [sp, #64]: the slot that the CFA is read from
 *	RETURNING	CFA = x20, ra in lr		ldp x29, x30, [sp], #16, where x20 was loaded from that slot
 *
 * Adapters from interpreted to compiled code align sp. Their caller is interpreted, and found by its x29: where its sp is does not matter.
 */
#include "unwind/a64jit.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "unwind/a64stack.h"

#define UNSEEN	    UINT32_MAX
#define WORD	    8
#define MAX_PADDING 16	 /* words */
#define SENDER_AT   (-8) /* the slot of an interpreter's frame */

enum phase {
	PHASE_FRAME,
	PHASE_SENDER,
	PHASE_MAKING,
	PHASE_INTERPRETED,
	PHASE_RETURNING
};

/* Compared as bytes. stack: of PHASE_FRAME, zeroed else. */
struct state {
	struct a64stack stack;
	uint32_t phase;
	uint32_t alias; /* the register that has the caller's sp; A64_NONE: there is none */
};

struct path {
	uint32_t word, state;
};

struct flow {
	const struct stackflow_code *code;
	uint32_t nr_words;
	uint32_t sender; /* the register in which a method gets its caller's sp */
	uint32_t *seen;	 /* for each word: the number of its state, or UNSEEN */
	vec_of(struct state) states;
	vec_of(struct path) paths; /* still to be followed */
};

static void flow_release(struct flow *flow)
{
	free(flow->seen);
	vec_release(&flow->states);
	vec_release(&flow->paths);
}

static struct a64 instruction(const struct flow *flow, uint32_t word)
{
	return a64_decode(a64_word(flow->code->bytes + (size_t)word * A64_BYTES));
}

/* States ----------------------------------------------------------------------------------------- */

static struct state in_phase(enum phase phase, uint32_t alias)
{
	struct state state;

	memset(&state, 0, sizeof(state));
	state.phase = phase;
	state.alias = alias;
	return state;
}

static struct state entry(void)
{
	struct state state = in_phase(PHASE_FRAME, A64_NONE);

	state.stack = a64stack_entry;
	return state;
}

/* The state of code that no path reaches: x29 and x30 are at the top of a frame. */
static struct state in_body(const struct stackflow_code *code)
{
	struct state state = entry();

	if (code->kind == STACKFLOW_INTERPRETER)
		return in_phase(PHASE_INTERPRETED, A64_NONE);
	if (code->frame_bytes < 2 * WORD)
		return state;
	state.stack.sp_off = (int32_t)code->frame_bytes;
	state.stack.fp_how = state.stack.ra_how = A64STACK_SAVED;
	state.stack.fp_at = -2 * WORD;
	state.stack.ra_at = -WORD;
	return state;
}

/* The register that gets the caller's sp: of a frame of the interpreter, or from another register. */
static uint32_t alias_after(uint32_t alias, const struct a64 *in)
{
	if (in->class == A64_LOAD && in->rn == A64_FP && in->imm == SENDER_AT && in->is_64)
		return in->rd;
	if (in->class == A64_MOV_REG && in->is_64 && in->rm == alias)
		return in->rd;
	return alias < 32 && in->written >> alias & 1 ? A64_NONE : alias;
}

static bool stores_sender(const struct flow *flow, const struct a64 *in)
{
	return (in->class == A64_STORE_PAIR &&
		(in->rd == flow->sender || in->rd2 == flow->sender)) ||
	       (in->class == A64_STORE && in->rd == flow->sender);
}

/* Of an interpreter's method. */
static void apply_phase(const struct flow *flow, struct state *state, const struct a64 *in)
{
	bool sets_fp = in->written >> A64_FP & 1;

	if (state->phase == PHASE_SENDER && sets_fp) {
		state->phase = PHASE_MAKING;
	} else if (state->phase == PHASE_MAKING && stores_sender(flow, in)) {
		state->phase = PHASE_INTERPRETED;
		state->alias = A64_NONE;
	} else if (state->phase == PHASE_INTERPRETED) {
		state->alias = alias_after(state->alias, in);
		if (in->class == A64_LOAD_PAIR && in->rd == A64_FP && in->rd2 == A64_LR)
			state->phase = PHASE_RETURNING;
	} else if (state->phase == PHASE_RETURNING) {
		state->alias = alias_after(state->alias, in);
	}
}

static void apply(const struct flow *flow, struct state *state, const struct a64 *in)
{
	bool aligns = in->class == A64_AND_IMM && in->rd == A64_SP;
	bool is_entry = a64stack_is_balanced(&state->stack);

	if (state->phase != PHASE_FRAME)
		apply_phase(flow, state, in);
	else if (!aligns || !is_entry)
		a64stack_apply(&state->stack, in);
}

/* Paths ------------------------------------------------------------------------------------------ */

static uint32_t add_state(struct flow *flow, const struct state *state)
{
	vec_push(&flow->states, *state);
	return (uint32_t)flow->states.nr - 1;
}

/* A relative branch that stays inside is a path. */
static void add_branch(struct flow *flow, uint32_t word, const struct a64 *in, uint32_t state)
{
	int64_t target = (int64_t)word + in->imm / A64_BYTES;
	struct state called = entry();

	if (!a64_is_relative_branch(in) || target < 0 || target >= flow->nr_words ||
	    flow->seen[target] != UNSEEN)
		return;
	/* The interpreter calls parts of itself, within one frame. */
	if (in->class == A64_BL && flow->states.at[state].phase != PHASE_INTERPRETED)
		state = add_state(flow, &called);
	vec_push(&flow->paths, (struct path){(uint32_t)target, state});
}

/* Past one instruction. false: the path ends with it. */
static bool pass(struct flow *flow, struct path *path)
{
	struct a64 in = instruction(flow, path->word);
	struct state state = flow->states.at[path->state];

	flow->seen[path->word] = path->state;
	add_branch(flow, path->word, &in, path->state);
	if (a64_is_end(&in))
		return false;
	apply(flow, &state, &in);
	if (memcmp(&state, &flow->states.at[path->state], sizeof(state)) != 0)
		path->state = add_state(flow, &state);
	path->word++;
	return true;
}

static void follow_all(struct flow *flow, uint32_t word, const struct state *state)
{
	vec_push(&flow->paths, (struct path){word, add_state(flow, state)});
	while (flow->paths.nr) {
		struct path path = flow->paths.at[--flow->paths.nr];

		while (path.word < flow->nr_words && flow->seen[path.word] == UNSEEN)
			if (!pass(flow, &path))
				break;
	}
}

/* Code is aligned, behind zeros. */
static uint32_t skip_padding(const struct flow *flow, uint32_t word)
{
	uint32_t i = word;

	while (i < flow->nr_words && i - word < MAX_PADDING &&
	       !a64_word(flow->code->bytes + (size_t)i * A64_BYTES))
		i++;
	return i;
}

static void follow_entries(struct flow *flow)
{
	for (size_t i = 0; i < flow->code->nr_entries; i++) {
		const struct stackflow_entry *at = &flow->code->entries[i];
		struct state state = at->sender_in_r13 ? in_phase(PHASE_SENDER, flow->sender)
						       : entry();

		if (at->offset / A64_BYTES < flow->nr_words)
			follow_all(flow, skip_padding(flow, (uint32_t)(at->offset / A64_BYTES)),
				   &state);
	}
}

/* Then what no path has led to. */
static void follow_rest(struct flow *flow)
{
	struct state body = in_body(flow->code);

	for (uint32_t i = 0; i < flow->nr_words; i++)
		if (flow->seen[i] == UNSEEN)
			follow_all(flow, i, &body);
}

/* stp xzr, x13, [sp, #64], which no method is made without: x19 since Java 20. */
static uint32_t find_sender(const struct flow *flow)
{
	for (uint32_t i = 0; flow->code->kind == STACKFLOW_INTERPRETER && i < flow->nr_words; i++) {
		struct a64 in = instruction(flow, i);

		if (in.class == A64_STORE_PAIR && in.rd == A64_ZR && in.rn == A64_SP &&
		    in.imm == 8 * WORD && (in.rd2 == 13 || in.rd2 == 19))
			return in.rd2;
	}
	return 13;
}

/* Rules ------------------------------------------------------------------------------------------ */

static struct unwind_rule by_register(uint32_t reg, bool is_made)
{
	struct unwind_rule rule = {.kind = UNWIND_FRAME, .cfa_reg = (uint8_t)reg};

	rule.how = is_made ? unwind_how_pack(UNWIND_AT_FP, UNWIND_AT_FP)
			   : unwind_how_pack(UNWIND_SAME, UNWIND_IN_REG);
	rule.ra_off = is_made ? WORD : A64_LR;
	return rule;
}

static struct unwind_rule interpreted(void)
{
	return (struct unwind_rule){
		.kind = UNWIND_DEREF,
		.cfa_reg = A64_FP,
		.cfa_off = SENDER_AT,
		.how = unwind_how_pack(UNWIND_AT_FP, UNWIND_AT_FP),
		.ra_off = WORD,
	};
}

static struct unwind_rule rule_of(const struct flow *flow, const struct state *state)
{
	struct unwind_rule rule = {.kind = UNWIND_GAP};
	struct state body;

	if (state->phase == PHASE_INTERPRETED)
		return interpreted();
	if (state->phase != PHASE_FRAME)
		return state->alias < 32 ? by_register(state->alias, state->phase == PHASE_MAKING)
					 : rule;
	if (a64stack_rule(&state->stack, &rule))
		return rule;
	/* Lost, most likely in bytes that are no code; a gap, if there is no usual frame. */
	body = in_body(flow->code);
	if (flow->code->frame_bytes)
		a64stack_rule(&body.stack, &rule);
	return rule;
}

static void emit_rows(const struct flow *flow, cfa_row_fn emit, void *ctx)
{
	struct unwind_row row = {.elf_addr = 0};
	uint32_t last = UNSEEN;

	for (uint32_t i = 0; i < flow->nr_words; i++) {
		struct unwind_rule rule;

		if (flow->seen[i] == last)
			continue;
		last = flow->seen[i];
		rule = rule_of(flow, &flow->states.at[last]);
		if (i && !memcmp(&rule, &row.rule, sizeof(rule)))
			continue;
		row.elf_addr = flow->code->addr + (uint64_t)i * A64_BYTES;
		row.rule = rule;
		emit(ctx, &row);
	}
}

void a64jit_rows(const struct stackflow_code *code, cfa_row_fn emit, void *ctx)
{
	struct flow flow scoped(flow_release) = {.code = code};

	if (code->len_bytes > STACKFLOW_MAX_BYTES || code->len_bytes < A64_BYTES) {
		emit(ctx, &(struct unwind_row){code->addr, {.kind = UNWIND_GAP}});
		return;
	}
	flow.nr_words = (uint32_t)(code->len_bytes / A64_BYTES);
	flow.sender = find_sender(&flow);
	flow.seen = xreallocarray(NULL, flow.nr_words, sizeof(*flow.seen));
	memset(flow.seen, 0xff, flow.nr_words * sizeof(*flow.seen));
	follow_entries(&flow);
	follow_rest(&flow);
	emit_rows(&flow, emit, ctx);
}
