// SPDX-License-Identifier: BSD-2-Clause
/*
 * First come the functions that symbols name, then what those call, and so on. Where else a function begins is not known: each
 * piece of code that no path has led to, behind the end of another one or padding, is tried as the beginning of one, and, since it
 * may be the target of a jump table as well, with the stack as it was at the jumps of the function before it.
 */
#include "unwind/a64flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "unwind/a64path.h"
#include "unwind/unwindarch.h"

#define UNSEEN A64PATH_UNSEEN
/* For all attempts together. */
#define STEPS_PER_WORD 4
/* The distance from the start of a function within which targets of its jumps are looked for. */
#define FUNCTION_WORDS (16u << 10)

#define PLT_PUSH 0xa9bf7bf0u /* stp x16, x30, [sp, #-16]! */

enum beginning {
	NAMED,
	CALLED,
	GUESSED
};

struct flow {
	struct a64path path;
	uint8_t *is_start;    /* for each word: a proven function begins there */
	uint8_t *is_tried;    /* as called */
	uint8_t *is_branched; /* code that stays a gap leads there */
	vec_of(uint32_t) entries;
	void *ctx;
};

static void flow_release(struct flow *flow)
{
	a64path_release(&flow->path);
	free(flow->is_start);
	free(flow->is_tried);
	free(flow->is_branched);
	vec_release(&flow->entries);
}

static void add_entry(struct flow *flow, uint32_t word)
{
	if (flow->is_tried[word])
		return;
	flow->is_tried[word] = 1;
	vec_push(&flow->entries, word);
}

static void flow_open(struct flow *flow, const struct asmflow_code *code, void *ctx)
{
	*flow = (struct flow){.ctx = ctx};
	a64path_open(&flow->path, code, (uint64_t)(code->len_bytes / A64_BYTES) * STEPS_PER_WORD);
	flow->is_start = xcalloc(flow->path.nr_words + 1, 1);
	flow->is_tried = xcalloc(flow->path.nr_words + 1, 1);
	flow->is_branched = xcalloc(flow->path.nr_words + 1, 1);
	for (size_t i = 0; i < code->nr_called; i++) {
		uint64_t offset = code->called[i] - code->addr;

		if (offset / A64_BYTES < flow->path.nr_words && offset % A64_BYTES == 0)
			add_entry(flow, (uint32_t)(offset / A64_BYTES));
	}
}

/* Proof ------------------------------------------------------------------------------------------ */

/* What it calls begins for certain. */
static void accept(struct flow *flow)
{
	const struct asmflow_code *code = flow->path.code;

	vec_for_each(&flow->path.calls, word) {
		if (flow->path.seen[*word] == UNSEEN)
			add_entry(flow, *word);
		flow->path.bounds[*word] = 1;
		if (code->leads_to)
			code->leads_to(flow->ctx, code->addr + (uint64_t)*word * A64_BYTES);
	}
	for (size_t i = 0; code->leads_to && i < flow->path.outside.nr; i++)
		code->leads_to(flow->ctx, flow->path.outside.at[i]);
}

/* The target of a jump of the last function's: it fits the stack as it was there. */
static bool fits_jump(struct flow *flow, uint32_t word, bool is_known)
{
	struct a64path *path = &flow->path;

	a64path_begin(path, is_known);
	for (size_t i = path->jumps.nr; i-- > 0;) {
		struct a64path_mark before = a64path_mark(path);
		struct a64stack state = path->jumps.at[i];

		if (!a64path_follow(path, word, &state))
			continue;
		if (path->is_proven) {
			accept(flow);
			return true;
		}
		a64path_undo(path, &before);
	}
	return false;
}

/* One with a name needs no return, unless it goes on where a register says: that may be another language's, with another stack. */
static bool fits_entry(struct flow *flow, uint32_t word, enum beginning beginning)
{
	struct a64path *path = &flow->path;
	struct a64path_mark before;

	a64path_begin(path, beginning != GUESSED);
	before = a64path_mark(path);
	if (!a64path_follow(path, word, &a64stack_entry))
		return false;
	if (!path->is_proven && (beginning == GUESSED || path->has_jumped)) {
		a64path_undo(path, &before);
		return false;
	}
	accept(flow);
	flow->is_start[word] = 1;
	return true;
}

/* The pieces behind a function, up to the next one that is known, that it jumps to through tables. */
static void follow_targets(struct flow *flow, uint32_t word)
{
	struct a64path *path = &flow->path;
	uint32_t limit = path->nr_words - word < FUNCTION_WORDS ? path->nr_words
								: word + FUNCTION_WORDS;

	if (!path->jumps.nr)
		return;
	for (word++; word < limit && !path->begins[word] && path->nr_steps; word++) {
		path->nr_steps--;
		if (path->seen[word] == UNSEEN && !a64path_is_padding(path, word))
			fits_jump(flow, word, true);
	}
}

static void follow_calls(struct flow *flow)
{
	struct a64stack jumps[A64PATH_MAX_JUMPS];
	size_t nr_jumps = flow->path.jumps.nr;

	if (!flow->entries.nr)
		return;
	if (nr_jumps)
		memcpy(jumps, flow->path.jumps.at, nr_jumps * sizeof(*jumps));
	while (flow->entries.nr) {
		uint32_t word = flow->entries.at[--flow->entries.nr];

		flow->path.jumps.nr = 0;
		if (flow->path.seen[word] == UNSEEN && fits_entry(flow, word, CALLED))
			follow_targets(flow, word);
	}
	flow->path.jumps.nr = 0;
	for (size_t i = 0; i < nr_jumps; i++)
		vec_push(&flow->path.jumps, jumps[i]);
}

static void follow_known(struct flow *flow)
{
	for (uint32_t i = 0; i < flow->path.nr_words; i++) {
		if (!flow->path.begins[i] || flow->path.seen[i] != UNSEEN)
			continue;
		flow->path.jumps.nr = 0;
		if (fits_entry(flow, i, NAMED))
			follow_targets(flow, i);
	}
	flow->path.jumps.nr = 0;
	follow_calls(flow);
}

/* All else --------------------------------------------------------------------------------------- */

/* All up to where it ends. Words that are no instructions are no part of a function, and end it. */
static void give_up(struct flow *flow, uint32_t word)
{
	struct a64path *path = &flow->path;
	uint32_t start = word;
	struct a64 in;

	do {
		in = a64path_at(path, word);
		path->seen[word] = A64PATH_CODE;
		if (a64_is_relative_branch(&in) && in.class != A64_BL) {
			int64_t target = (int64_t)word + in.imm / A64_BYTES;

			if (target >= 0 && target < (int64_t)path->nr_words)
				flow->is_branched[target] = 1;
		}
		word++;
	} while (!a64_is_end(&in) && word < path->nr_words && path->seen[word] == UNSEEN &&
		 !(path->begins[word] && word > start));
}

/*
 * What handlers return to, before all else: from one instruction before it on, because what is before a return address is looked up.
 * The kernel has a nop there, or padding.
 */
static void find_signals(struct a64path *path)
{
	for (uint32_t i = 0; i < path->nr_words; i++) {
		if (!a64path_is_sigreturn(path, i))
			continue;
		if (i && a64path_is_padding(path, i - 1))
			path->seen[i - 1] = A64PATH_SIGNAL;
		path->seen[i] = path->seen[i + 1] = A64PATH_SIGNAL;
	}
}

/*
 * musl has the return of another function there. That one's own caller is then wrong at this one instruction; without it, so is
 * that of each handler.
 */
static void find_signals_behind_code(struct a64path *path)
{
	for (uint32_t i = 1; i < path->nr_words; i++) {
		struct a64 before = a64path_at(path, i - 1);

		if (path->seen[i] == A64PATH_SIGNAL && a64path_is_sigreturn(path, i) &&
		    before.class == A64_RET)
			path->seen[i - 1] = A64PATH_SIGNAL;
	}
}

/* Whether what is before it ends there, so that a function may begin. */
static bool may_begin(const struct flow *flow, uint32_t word)
{
	struct a64 before;

	if (flow->is_branched[word] || !word)
		return !flow->is_branched[word];
	before = a64path_at(&flow->path, word - 1);
	return a64path_is_padding(&flow->path, word - 1) || a64_is_end(&before);
}

/* false: it should be seen together with what follows. */
static bool settle(struct flow *flow, uint32_t word)
{
	struct a64path *path = &flow->path;

	path->reaches_beyond = false;
	if (path->begins[word])
		path->jumps.nr = 0;
	if (path->begins[word] && fits_entry(flow, word, NAMED))
		return true;
	if (fits_jump(flow, word, false))
		return true;
	if (may_begin(flow, word)) {
		path->jumps.nr = 0; /* from here on it is another function's */
		if (fits_entry(flow, word, GUESSED))
			return true;
	}
	if (path->reaches_beyond && word > path->nr_words / 2)
		return false;
	give_up(flow, word);
	return true;
}

/* How many words are settled. */
static uint32_t settle_all(struct flow *flow)
{
	struct a64path *path = &flow->path;
	uint32_t i = 0;

	while (i < path->nr_words) {
		follow_calls(flow);
		if (path->seen[i] != UNSEEN)
			i++;
		else if (a64path_is_padding(path, i))
			path->seen[i++] = A64PATH_PADDING;
		else if (!settle(flow, i))
			break;
	}
	return i;
}

/* Rows ------------------------------------------------------------------------------------------- */

static struct unwind_rule rule_of(const struct a64path *path, uint32_t state)
{
	struct unwind_rule rule = {.kind = UNWIND_GAP};

	switch (state) {
	case A64PATH_PADDING:
		break;
	case A64PATH_CODE:
		rule.cfa_reg = CFA_GAP_IS_CODE;
		break;
	case A64PATH_SIGNAL:
		return unwind_arm64.signal();
	case A64PATH_CLONE:
		rule.kind = UNWIND_CLONE;
		break;
	case A64PATH_ROOT:
		rule.kind = UNWIND_ROOT;
		break;
	default:
		a64stack_rule(&path->states.at[state], &rule);
	}
	return rule;
}

static void emit_rows(const struct a64path *path, uint32_t nr_words, cfa_row_fn emit, void *ctx)
{
	struct unwind_row row = {.elf_addr = 0};
	uint32_t last_state = UNSEEN;

	for (uint32_t i = 0; i < nr_words; i++) {
		struct unwind_rule rule;

		if (path->seen[i] == last_state)
			continue;
		last_state = path->seen[i];
		rule = rule_of(path, last_state);
		if (i && !memcmp(&rule, &row.rule, sizeof(rule)))
			continue;
		row.elf_addr = path->code->addr + (uint64_t)i * A64_BYTES;
		row.rule = rule;
		emit(ctx, &row);
	}
}

static void add_starts(const struct flow *flow, uint32_t nr_words, struct codestarts *starts)
{
	uint64_t addr = flow->path.code->addr;

	codestarts_add(starts, addr, false);
	for (uint32_t i = 0; i < nr_words; i++)
		if (flow->is_start[i] || flow->path.seen[i] == A64PATH_CODE)
			codestarts_add(starts, addr + (uint64_t)i * A64_BYTES, flow->is_start[i]);
}

size_t a64flow_rows(const struct asmflow_code *code, cfa_row_fn emit, void *ctx)
{
	struct flow flow scoped(flow_release) = {0};
	uint32_t nr_words;

	if (code->len_bytes < A64_BYTES || code->addr % A64_BYTES) {
		emit(ctx, &(struct unwind_row){code->addr, {.kind = UNWIND_GAP}});
		return code->len_bytes;
	}
	flow_open(&flow, code, ctx);
	find_signals(&flow.path);
	follow_known(&flow);
	nr_words = settle_all(&flow);
	find_signals_behind_code(&flow.path);
	emit_rows(&flow.path, nr_words, emit, ctx);
	if (code->starts)
		add_starts(&flow, nr_words, code->starts);
	if (nr_words < flow.path.nr_words)
		return (size_t)nr_words * A64_BYTES;
	if (code->len_bytes % A64_BYTES)
		emit(ctx, &(struct unwind_row){code->addr + (uint64_t)nr_words * A64_BYTES,
					       {.kind = UNWIND_GAP}});
	return code->len_bytes;
}

void a64flow_plt_rows(const struct asmflow_code *code, cfa_row_fn emit, void *ctx)
{
	const struct unwind_rule pushed = {.kind = UNWIND_FRAME,
					   .cfa_reg = A64_SP,
					   .how = unwind_how_pack(UNWIND_SAME, UNWIND_AT_CFA),
					   .cfa_off = 16,
					   .ra_off = -8};
	struct unwind_row row = {.elf_addr = code->addr};
	bool is_pushed = false;

	a64stack_rule(&a64stack_entry, &row.rule);
	emit(ctx, &row);
	for (size_t i = 0; i + A64_BYTES <= code->len_bytes; i += A64_BYTES) {
		uint32_t word = a64_word(&code->bytes[i]);
		struct a64 in = a64_decode(word);

		if (word != PLT_PUSH && !(is_pushed && in.class == A64_BR))
			continue;
		is_pushed = word == PLT_PUSH;
		row.elf_addr = code->addr + i + A64_BYTES;
		if (is_pushed)
			row.rule = pushed;
		else
			a64stack_rule(&a64stack_entry, &row.rule);
		if (row.elf_addr < code->addr + code->len_bytes)
			emit(ctx, &row);
	}
}
