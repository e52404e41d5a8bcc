// SPDX-License-Identifier: BSD-2-Clause
/*
 * First come the functions that symbols name, then what those call or take the address of, and so on. Where else a function
 * begins is not known. So each piece of code that no path has led to is tried as the beginning of one, and, since it
 * may be the target of a jump table as well, with the stack as it was at the jumps of the function before it. Only one
 * of these fits, because the stack must be balanced at a return:
 *
 *	sub   $0x28,%rsp
 *	movslq (%r11,%rax,4),%rax
 *	add   %r11,%rax
 *	jmp   *%rax			CFA = sp + 0x30 here ...
 *	movd  %xmm0,(%rdi)		... and here, which no branch names: as a beginning, the return below would
 *	add   $0x28,%rsp		find CFA = sp - 0x20
 *	ret
 *
 * A function that ends in such a jump only is proven by what stands behind it and fits. An attempt that fails leaves
 * nothing behind. Code of which all fail stays a gap up to where it ends, and what it branches to is no beginning.
 */
#include "unwind/asmflow.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "unwind/asmpath.h"
#include "unwind/asmsyscall.h"
#include "unwind/stackabi.h"

#define UNSEEN ASMPATH_UNSEEN
#define NOP    0x90
/* Of all attempts together. To look at so many bytes for code that nothing has led to counts as one. */
#define STEPS_PER_BYTE 1
#define SCAN_PER_STEP  8
/* Behind the beginning of a function, targets of its jumps are looked for. */
#define FUNCTION_BYTES (64u << 10)

struct flow {
	struct asmpath path;
	vec_of(struct asmpath_lead) entries; /* where what is proven leads, not looked at yet */
	uint8_t *is_tried; /* for each byte: the bits of struct asmpath_lead that were an entry */
	uint8_t *is_branched; /* for each byte: code that stays a gap leads there */
	uint8_t *is_start;    /* for each byte: a function begins there */
	void *ctx;	      /* of leads_to() */
};

static void flow_release(struct flow *flow)
{
	asmpath_release(&flow->path);
	vec_release(&flow->entries);
	free(flow->is_branched);
	free(flow->is_start);
	free(flow->is_tried);
}

/* Attempts --------------------------------------------------------------------------------------- */

/* Once each: an attempt that fails would fail again. */
static void add_entry(struct flow *flow, struct asmpath_lead lead)
{
	uint8_t bit = lead.is_called ? 1 : 2;

	if (flow->is_tried[lead.offset] & bit)
		return;
	flow->is_tried[lead.offset] |= bit;
	vec_push(&flow->entries, lead);
}

/* What it calls begins for certain. Its window may end before that is looked at. */
static void accept(struct flow *flow)
{
	struct asmpath *path = &flow->path;
	const struct asmflow_code *code = path->code;

	vec_for_each(&path->leads, lead) {
		add_entry(flow, *lead);
		if (!lead->is_called)
			continue;
		path->bounds[lead->offset] = 1;
		if (code->leads_to)
			code->leads_to(flow->ctx, code->addr + lead->offset);
	}
	for (size_t i = 0; code->leads_to && i < path->outside.nr; i++)
		code->leads_to(flow->ctx, path->outside.at[i]);
}

/*
 * The target of a jump of the last function's: it fits the stack as it was there. only_unbalanced: where that is another one
 * than at a beginning; the others prove nothing of a function.
 */
static bool fits_jump(struct asmpath *path, uint32_t offset, bool only_unbalanced)
{
	for (size_t i = path->jumps.nr; i-- > 0;) {
		struct asmpath_mark before = asmpath_mark(path);
		struct stackstate state = path->jumps.at[i];

		if (only_unbalanced && stackabi_is_balanced(&state))
			continue;
		if (!asmpath_follow(path, offset, &state))
			continue;
		if (path->is_proven)
			return true;
		asmpath_undo(path, &before);
	}
	return false;
}

static bool try_target(struct flow *flow, uint32_t offset, bool is_known)
{
	asmpath_begin(&flow->path, is_known);
	if (!fits_jump(&flow->path, offset, false))
		return false;
	accept(flow);
	return true;
}

/* Behind offset, where the next function begins that is known, or how far a function is looked for. */
static uint32_t next_begin(const struct asmpath *path, uint32_t offset)
{
	uint32_t left = path->code->len_bytes - offset;
	uint32_t len = left < FUNCTION_BYTES ? left : FUNCTION_BYTES;
	const uint8_t *found = memchr(&path->begins[offset] + 1, 1, len - 1);

	return found ? (uint32_t)(found - path->begins) : offset + len;
}

/* The first code from here on that no path has led to. limit: there is none before that. */
static uint32_t next_unseen(const struct asmpath *path, uint32_t offset, uint32_t limit)
{
	while (offset < limit) {
		uint32_t len = path->seen[offset] == UNSEEN ? asmpath_padding(path, offset) : 1;

		if (!len)
			return offset;
		offset += len;
	}
	return limit;
}

/* Bytes that were looked at for code. */
static void charge(struct asmpath *path, uint32_t nr_bytes)
{
	uint64_t nr_steps = 1 + nr_bytes / SCAN_PER_STEP;

	path->nr_steps -= path->nr_steps < nr_steps ? path->nr_steps : nr_steps;
}

/* A function that goes on through a table only: by what the table leads to, which stands behind it. */
static bool is_proven_by_target(struct asmpath *path, uint32_t offset)
{
	uint32_t limit, next;

	if (!path->jumps.nr)
		return false;
	limit = next_begin(path, offset);
	next = next_unseen(path, offset, limit);
	charge(path, next - offset);
	return next < limit && fits_jump(path, next, true);
}

/* How it is known that a function begins somewhere. */
enum beginning {
	GUESSED, /* by its alignment */
	TAKEN,	 /* its address is, by what is proven */
	CALLED,	 /* by what is proven */
	NAMED,	 /* by a symbol */
};

/* One that never returns, where code has names: then it is a compiler's, most likely. */
static bool is_proven_by_frame(const struct asmpath *path, uint32_t offset)
{
	struct instruction in;

	return path->code->nr_begins && path->has_called && !path->has_jumped &&
	       stackdecode_at(&path->decode, offset, &in) &&
	       in.decoded.mnemonic == ZYDIS_MNEMONIC_PUSH;
}

/*
 * A function with a name needs no proof, unless it goes on where a register or memory says: Haskell's have names, too, and
 * another stack. That its frame is undone before such a jump proves a function, but not if it was found by an address that
 * was taken: of a label between two jumps that may be as true.
 */
static bool is_proven(struct asmpath *path, uint32_t offset, enum beginning beginning)
{
	switch (beginning) {
	case NAMED:
		if (!path->has_jumped)
			return true;
		break;
	case CALLED:
	case TAKEN:
		if (is_proven_by_frame(path, offset))
			return true;
		break;
	case GUESSED:
		break;
	}
	return path->is_proven || path->is_ended || (beginning >= CALLED && path->is_undone) ||
	       is_proven_by_target(path, offset);
}

static bool try_entry(struct flow *flow, uint32_t offset, enum beginning beginning)
{
	struct asmpath *path = &flow->path;
	struct asmpath_mark before;
	bool no_return;

	asmpath_begin(path, beginning != GUESSED);
	before = asmpath_mark(path);
	if (!asmpath_follow(path, offset, &stackstate_entry))
		return false;
	no_return = !path->is_proven && !path->has_left;
	if (is_proven(path, offset, beginning)) {
		accept(flow);
		flow->is_start[offset] = 1;
		path->no_returns[offset] = no_return;
		return true;
	}
	asmpath_undo(path, &before);
	return false;
}

/* The pieces behind a function, up to the next one that is known, that it jumps to through tables. */
static void follow_targets(struct flow *flow, uint32_t offset)
{
	struct asmpath *path = &flow->path;
	uint32_t limit = next_begin(path, offset);

	while (path->jumps.nr && path->nr_steps) {
		uint32_t next = next_unseen(path, offset, limit);

		charge(path, next - offset);
		if (next == limit)
			return;
		offset = next;
		if (try_target(flow, next, true))
			continue;
		while (offset < limit && path->seen[offset] == UNSEEN)
			offset++;
		charge(path, offset - next);
	}
}

/* Where what is proven leads functions begin, aligned or not. Its jumps are not those of the function before the next one. */
static void follow_calls(struct flow *flow)
{
	struct stackstate jumps[ASMPATH_MAX_JUMPS];
	size_t nr_jumps = flow->path.jumps.nr;

	if (!flow->entries.nr)
		return;
	if (nr_jumps)
		memcpy(jumps, flow->path.jumps.at, nr_jumps * sizeof(*jumps));
	while (flow->entries.nr) {
		struct asmpath_lead lead = flow->entries.at[--flow->entries.nr];

		flow->path.jumps.nr = 0;
		if (flow->path.seen[lead.offset] == UNSEEN &&
		    try_entry(flow, lead.offset, lead.is_called ? CALLED : TAKEN))
			follow_targets(flow, lead.offset);
	}
	flow->path.jumps.nr = 0;
	for (size_t i = 0; i < nr_jumps; i++)
		vec_push(&flow->path.jumps, jumps[i]);
}

/* All that begins for certain, and then all that is called from there. */
static void follow_known(struct flow *flow)
{
	for (uint32_t i = 0; i < flow->path.code->len_bytes; i++) {
		if (!flow->path.begins[i] || flow->path.seen[i] != UNSEEN)
			continue;
		flow->path.jumps.nr = 0;
		if (try_entry(flow, i, NAMED))
			follow_targets(flow, i);
	}
	flow->path.jumps.nr = 0;
	follow_calls(flow);
}

/* Everything ------------------------------------------------------------------------------------- */

static void give_up(struct flow *flow, uint32_t state, uint32_t start, uint32_t limit)
{
	if (start == limit)
		return;
	flow->path.seen[start] = state;
	for (uint32_t i = start + 1; i < limit && flow->path.seen[i] == UNSEEN; i++)
		flow->path.seen[i] = ASMPATH_INSIDE;
}

static void note_branch(struct flow *flow, const struct instruction *in)
{
	int64_t target;

	if (in->decoded.mnemonic != ZYDIS_MNEMONIC_CALL && stackdecode_target(in, &target) &&
	    target >= 0 && target < (int64_t)flow->path.code->len_bytes)
		flow->is_branched[target] = 1;
}

/*
 * All up to where it ends: padding may be that of a loop. Bytes that are no instructions are no part of a function, and
 * end it.
 */
static void give_up_code(struct flow *flow, uint32_t offset)
{
	const struct asmpath *path = &flow->path;
	uint32_t start = offset;
	bool is_end = false;

	while (!is_end && offset < path->code->len_bytes && path->seen[offset] == UNSEEN) {
		struct instruction in = {.next = offset + 1};

		if (path->begins[offset] && offset > start)
			break;
		is_end = true;
		if (stackdecode_at(&path->decode, offset, &in)) {
			is_end = stackdecode_is_end(&in);
			note_branch(flow, &in);
		}
		give_up(flow, ASMPATH_CODE, offset, in.next);
		offset = in.next;
	}
}

/*
 * What a handler returns to, from one byte before it on, because what is before a return address is looked up, to one byte
 * behind it, where the kernel has its thread stand meanwhile.
 */
static bool settle_signal(struct flow *flow, uint32_t offset)
{
	struct asmpath *path = &flow->path;
	uint32_t limit = offset + ASMSYSCALL_SIGRETURN_BYTES;

	if (!asmsyscall_is_sigreturn(path, offset))
		return false;
	if (offset && path->code->bytes[offset - 1] == NOP &&
	    path->seen[offset - 1] <= ASMPATH_CODE)
		path->seen[offset - 1] = ASMPATH_SIGNAL;
	give_up(flow, ASMPATH_SIGNAL, offset, limit);
	if (limit < path->code->len_bytes && path->seen[limit] == UNSEEN)
		give_up(flow, ASMPATH_SIGNAL, limit, limit + asmpath_padding(path, limit));
	return true;
}

/*
 * false: it should be seen together with what follows. A function is aligned: the rest of one that was given up must
 * not be taken for another.
 */
static bool settle(struct flow *flow, uint32_t offset)
{
	struct asmpath *path = &flow->path;
	bool may_begin = !((path->code->addr + offset) % ASMPATH_ALIGNS) &&
			 !flow->is_branched[offset];

	path->reaches_beyond = false;
	if (settle_signal(flow, offset))
		return true;
	if (path->begins[offset]) {
		path->jumps.nr = 0;
		if (try_entry(flow, offset, NAMED))
			return true;
	}
	if (try_target(flow, offset, false))
		return true;
	path->jumps.nr = 0; /* from here on it is another function's */
	if (may_begin && try_entry(flow, offset, GUESSED))
		return true;
	if (path->reaches_beyond && offset > path->code->len_bytes / 2)
		return false;
	give_up_code(flow, offset);
	return true;
}

/* How many bytes are settled. */
static size_t follow_all(struct flow *flow)
{
	const struct asmpath *path = &flow->path;
	size_t i = 0;

	while (i < path->code->len_bytes) {
		uint32_t len;

		follow_calls(flow);
		if (path->seen[i] != UNSEEN) {
			i++;
			continue;
		}
		len = asmpath_padding(path, i);
		if (len)
			give_up(flow, ASMPATH_PADDING, i, i + len);
		else if (!settle(flow, i))
			break;
	}
	return i;
}

static struct unwind_rule rule_of(const struct asmpath *path, uint32_t state)
{
	struct unwind_rule rule = {.kind = UNWIND_GAP};

	switch (state) {
	case ASMPATH_PADDING:
		break;
	case ASMPATH_CODE:
		rule.cfa_reg = CFA_GAP_IS_CODE;
		break;
	case ASMPATH_SIGNAL:
		return asmsyscall_sigreturn_rule();
	case ASMPATH_CLONE:
		rule.kind = UNWIND_CLONE;
		break;
	case ASMPATH_ROOT:
		rule.kind = UNWIND_ROOT;
		break;
	default:
		asmpath_rule(path, state, &rule);
	}
	return rule;
}

static void emit_rows(const struct asmpath *path, size_t len_bytes, cfa_row_fn emit, void *ctx)
{
	struct unwind_row row = {.elf_addr = 0};
	uint32_t last_state = UNSEEN;

	for (size_t i = 0; i < len_bytes; i++) {
		struct unwind_rule rule;

		if (path->seen[i] >= ASMPATH_INSIDE || path->seen[i] == last_state)
			continue;
		last_state = path->seen[i];
		rule = rule_of(path, last_state);
		if (i && !memcmp(&rule, &row.rule, sizeof(rule)))
			continue;
		row.elf_addr = path->code->addr + i;
		row.rule = rule;
		emit(ctx, &row);
	}
}

/* What a function jumps to through a table is its own, as far as it stands right behind it. */
static void add_starts(const struct flow *flow, size_t len_bytes, struct codestarts *starts)
{
	const struct asmflow_code *code = flow->path.code;

	codestarts_add(starts, code->addr, false);
	for (size_t i = 0; i < len_bytes; i++)
		if (flow->is_start[i] || flow->path.seen[i] == ASMPATH_CODE)
			codestarts_add(starts, code->addr + i, flow->is_start[i]);
}

size_t asmflow_rows(const struct asmflow_code *code, cfa_row_fn emit, void *ctx)
{
	struct flow flow scoped(flow_release) = {0};
	size_t len_bytes;

	asmpath_open(&flow.path, code, (uint64_t)code->len_bytes * STEPS_PER_BYTE);
	flow.is_branched = xcalloc(code->len_bytes, 1);
	flow.is_start = xcalloc(code->len_bytes, 1);
	flow.is_tried = xcalloc(code->len_bytes, 1);
	flow.ctx = ctx;
	for (size_t i = 0; i < code->nr_called; i++)
		if (code->called[i] - code->addr < code->len_bytes)
			add_entry(&flow, (struct asmpath_lead){
						 (uint32_t)(code->called[i] - code->addr), true});
	follow_known(&flow);
	len_bytes = follow_all(&flow);
	emit_rows(&flow.path, len_bytes, emit, ctx);
	if (code->starts)
		add_starts(&flow, len_bytes, code->starts);
	return len_bytes;
}
