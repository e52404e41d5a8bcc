// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where a function begins is not known without symbols. So each piece of code that no path has led to is tried as the
 * beginning of one, and, since it may be the target of a jump table as well, with the stack as it was at the
 * jumps of the function before it. Only one of these fits, because the stack must be balanced at a return:
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
#include "unwind/stackabi.h"

#define UNSEEN ASMPATH_UNSEEN
/* The states of what stays a gap. */
#define PADDING 0
#define CODE	1
/* Of all attempts together. */
#define STEPS_PER_BYTE 2

struct flow {
	struct asmpath path;
	vec_of(uint32_t) entries; /* called by what is proven, and not looked at yet */
	uint8_t *is_branched;	  /* for each byte: code that stays a gap leads there */
};

static void flow_release(struct flow *flow)
{
	asmpath_release(&flow->path);
	vec_release(&flow->entries);
	free(flow->is_branched);
}

/* Attempts --------------------------------------------------------------------------------------- */

static void accept(struct flow *flow)
{
	vec_for_each(&flow->path.calls, called)
		vec_push(&flow->entries, *called);
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

static bool try_target(struct flow *flow, uint32_t offset)
{
	asmpath_begin(&flow->path);
	if (!fits_jump(&flow->path, offset, false))
		return false;
	accept(flow);
	return true;
}

/* The first code from here on that no path has led to. */
static uint32_t next_unseen(const struct asmpath *path, uint32_t offset)
{
	while (offset < path->code->len_bytes && path->seen[offset] != UNSEEN)
		offset++;
	while (offset < path->code->len_bytes && path->seen[offset] == UNSEEN) {
		uint32_t len = asmpath_padding(path, offset);

		if (!len)
			break;
		offset += len;
	}
	return offset;
}

/* A function that goes on through a table only: by what the table leads to, which stands behind it. */
static bool is_proven_by_target(struct asmpath *path, uint32_t offset)
{
	uint32_t next = next_unseen(path, offset);

	return path->jumps.nr && next < path->code->len_bytes && path->seen[next] == UNSEEN &&
	       fits_jump(path, next, true);
}

static bool try_entry(struct flow *flow, uint32_t offset)
{
	struct asmpath *path = &flow->path;
	struct asmpath_mark before;

	asmpath_begin(path);
	before = asmpath_mark(path);
	if (!asmpath_follow(path, offset, &stackstate_entry))
		return false;
	if (!path->is_proven && !is_proven_by_target(path, offset)) {
		asmpath_undo(path, &before);
		return false;
	}
	accept(flow);
	return true;
}

/* What is proven to be called begins there, aligned or not. Its jumps are not those of the function before the next one. */
static void follow_calls(struct flow *flow)
{
	size_t nr_jumps = flow->path.jumps.nr;

	while (flow->entries.nr) {
		uint32_t entry = flow->entries.at[--flow->entries.nr];

		if (flow->path.seen[entry] == UNSEEN)
			try_entry(flow, entry);
		flow->path.jumps.nr = nr_jumps;
	}
}

/* Everything ------------------------------------------------------------------------------------- */

static void give_up(struct flow *flow, uint32_t state, uint32_t start, uint32_t limit)
{
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
	bool is_end = false;

	while (!is_end && offset < path->code->len_bytes && path->seen[offset] == UNSEEN) {
		struct instruction in = {.next = offset + 1};

		is_end = true;
		if (stackdecode_at(&path->decode, offset, &in)) {
			is_end = stackdecode_is_end(&in);
			note_branch(flow, &in);
		}
		give_up(flow, CODE, offset, in.next);
		offset = in.next;
	}
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
	if (try_target(flow, offset))
		return true;
	path->jumps.nr = 0; /* from here on it is another function's */
	if (may_begin && try_entry(flow, offset))
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
			give_up(flow, PADDING, i, i + len);
		else if (!settle(flow, i))
			break;
	}
	return i;
}

static struct unwind_rule rule_of(const struct asmpath *path, uint32_t state)
{
	struct unwind_rule rule = {.kind = UNWIND_GAP};

	if (state == CODE)
		rule.cfa_reg = CFA_GAP_IS_CODE;
	else if (state != PADDING)
		asmpath_rule(path, state, &rule);
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

size_t asmflow_rows(const struct asmflow_code *code, cfa_row_fn emit, void *ctx)
{
	const struct stackstate gap = {.alias = STACKSTATE_NO_REG, .ra_reg = STACKSTATE_NO_REG};
	struct flow flow scoped(flow_release) = {0};
	size_t len_bytes;

	asmpath_open(&flow.path, code, (uint64_t)code->len_bytes * STEPS_PER_BYTE);
	flow.is_branched = xcalloc(code->len_bytes, 1);
	for (int state = PADDING; state <= CODE; state++)
		asmpath_add_state(&flow.path, &gap);
	len_bytes = follow_all(&flow);
	emit_rows(&flow.path, len_bytes, emit, ctx);
	return len_bytes;
}
