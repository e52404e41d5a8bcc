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
 * Code of which all attempts fail stays a gap up to where it ends, and what it branches to is no beginning.
 */
#include "unwind/asmflow.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "unwind/asmpath.h"
#include "unwind/asmproof.h"
#include "unwind/asmsyscall.h"

#define UNSEEN ASMPATH_UNSEEN
#define NOP    0x90

struct flow {
	struct asmproof proof;
	uint8_t *is_branched; /* for each byte: code that stays a gap leads there */
};

static void flow_release(struct flow *flow)
{
	asmproof_release(&flow->proof);
	free(flow->is_branched);
}

static void give_up(struct flow *flow, uint32_t state, uint32_t start, uint32_t limit)
{
	if (start == limit)
		return;
	flow->proof.path.seen[start] = state;
	for (uint32_t i = start + 1; i < limit && flow->proof.path.seen[i] == UNSEEN; i++)
		flow->proof.path.seen[i] = ASMPATH_INSIDE;
}

static void note_branch(struct flow *flow, const struct instruction *in)
{
	int64_t target;

	if (in->decoded.mnemonic != ZYDIS_MNEMONIC_CALL && stackdecode_target(in, &target) &&
	    target >= 0 && target < (int64_t)flow->proof.path.code->len_bytes)
		flow->is_branched[target] = 1;
}

/*
 * All up to where it ends: padding may be that of a loop. Bytes that are no instructions are no part of a function, and
 * end it.
 */
static void give_up_code(struct flow *flow, uint32_t offset)
{
	const struct asmpath *path = &flow->proof.path;
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
	struct asmpath *path = &flow->proof.path;
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
	struct asmpath *path = &flow->proof.path;
	bool may_begin = !((path->code->addr + offset) % ASMPATH_ALIGNS) &&
			 !flow->is_branched[offset];

	path->reaches_beyond = false;
	if (settle_signal(flow, offset))
		return true;
	if (path->begins[offset]) {
		path->jumps.nr = 0;
		if (asmproof_entry(&flow->proof, offset, ASMPROOF_NAMED))
			return true;
	}
	if (asmproof_target(&flow->proof, offset, false))
		return true;
	path->jumps.nr = 0; /* from here on it is another function's */
	if (may_begin && asmproof_entry(&flow->proof, offset, ASMPROOF_GUESSED))
		return true;
	if (path->reaches_beyond && offset > path->code->len_bytes / 2)
		return false;
	give_up_code(flow, offset);
	return true;
}

/* How many bytes are settled. */
static size_t follow_all(struct flow *flow)
{
	const struct asmpath *path = &flow->proof.path;
	size_t i = 0;

	while (i < path->code->len_bytes) {
		uint32_t len;

		asmproof_follow_calls(&flow->proof);
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
	const struct asmflow_code *code = flow->proof.path.code;

	codestarts_add(starts, code->addr, false);
	for (size_t i = 0; i < len_bytes; i++)
		if (flow->proof.is_start[i] || flow->proof.path.seen[i] == ASMPATH_CODE)
			codestarts_add(starts, code->addr + i, flow->proof.is_start[i]);
}

size_t asmflow_rows(const struct asmflow_code *code, cfa_row_fn emit, void *ctx)
{
	struct flow flow scoped(flow_release) = {0};
	size_t len_bytes;

	asmproof_open(&flow.proof, code, ctx);
	flow.is_branched = xcalloc(code->len_bytes, 1);
	asmproof_follow_known(&flow.proof);
	len_bytes = follow_all(&flow);
	emit_rows(&flow.proof.path, len_bytes, emit, ctx);
	if (code->starts)
		add_starts(&flow, len_bytes, code->starts);
	return len_bytes;
}
