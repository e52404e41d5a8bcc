// SPDX-License-Identifier: BSD-2-Clause
/*
 * Of each instruction is known, once a path has led to it, where the CFA is counted from and where
 * the return address and the caller's rbp are. Most instructions change none of these; those that
 * do are few: push, pop, add, sub, lea, mov, leave, and what overwrites a register that counts.
 *
 *	offset		instruction		CFA		return address	caller's rbp
 *	 0		push %rbp		sp + 8		CFA - 8		rbp
 *	 1		sub  $0x20,%rsp		sp + 16		CFA - 8		CFA - 16
 *	 5		...			sp + 48		CFA - 8		CFA - 16
 *	40		add  $0x20,%rsp		sp + 48		CFA - 8		CFA - 16
 *	44		pop  %rbp		sp + 16		CFA - 8		CFA - 16
 *	45		cmp  0x340(%r15),%rsp	sp + 8		CFA - 8		rbp
 *	4c		ja   60			sp + 8: so it is at 60, where there is no frame any more
 *	52		ret
 *
 * Each path is followed once; where two meet, the first to come is right (code that can run has one
 * answer, and damaged code needs none). What no path leads to is the target of jumps from elsewhere:
 * in compiled code that is the body of the frame (handlers of exceptions), in stubs the next function.
 *
 * Beyond what compilers make, stubs and the interpreter of HotSpot ask for:
 *	- a return address that is popped into a register, and pushed again (adapters between
 *	  compiled and interpreted code, which make room for arguments below it);
 *	- an aligned sp (and $-16,%rsp), where a register or a word of the stack remembers the old one;
 *	- the interpreter's frame, whose caller's sp is stored at rbp - 8 because an adapter may have
 *	  put arguments between it and the return address.
 *
 * Rejected: rows for the size of a frame alone, with prologue and epilogue found by patterns of
 * bytes. They differ between compilers and versions, and code after an epilogue (the slow path of
 * the safepoint poll at a return) cannot be distinguished from the body by its bytes.
 */
#include "unwind/stackflow.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "unwind/stackdecode.h"
#include "unwind/stackstate.h"

#define UNSEEN UINT32_MAX
#define INSIDE (UINT32_MAX - 1) /* not the first byte of an instruction */
#define WORD   8

struct path {
	uint32_t offset, state;
};

struct flow {
	const struct stackflow_code *code;
	struct stackdecode decode;
	uint32_t *seen; /* for each byte: the number of its state, UNSEEN or INSIDE */
	vec_of(struct stackstate) states;
	vec_of(struct path) paths; /* still to be followed */
};

static void flow_release(struct flow *flow)
{
	free(flow->seen);
	vec_release(&flow->states);
	vec_release(&flow->paths);
}

/* The state of code that no path reaches. */
static struct stackstate in_body(const struct stackflow_code *code)
{
	if (code->kind == STACKFLOW_INTERPRETER)
		return stackstate_interpreted;
	return code->frame_bytes ? stackstate_body(code->frame_bytes) : stackstate_entry;
}

/* Paths ------------------------------------------------------------------------------------------ */

static uint32_t add_state(struct flow *flow, const struct stackstate *state)
{
	vec_push(&flow->states, *state);
	return (uint32_t)flow->states.nr - 1;
}

/* A relative branch that stays inside is a path. */
static void add_branch(struct flow *flow, const struct instruction *in, uint32_t state)
{
	bool is_call = in->decoded.mnemonic == ZYDIS_MNEMONIC_CALL;
	int64_t offset;

	if (!stackdecode_target(in, &offset) || offset < 0 ||
	    offset >= (int64_t)flow->code->len_bytes || flow->seen[offset] != UNSEEN)
		return;
	/* The interpreter calls parts of itself, within one frame. */
	if (is_call && !flow->states.at[state].interpreted)
		state = add_state(flow, &stackstate_entry);
	vec_push(&flow->paths, (struct path){(uint32_t)offset, state});
}

/*
 * A call keeps no register that the caller's frame could be found by. The interpreter's intrinsic
 * methods make some before they have a frame: then the caller's sp is taken to be next to the return
 * address, which is so but for callers that are compiled, and found by their callers' sp anyway.
 */
static uint32_t settle(struct flow *flow, const struct instruction *in, uint32_t number)
{
	struct stackstate state = flow->states.at[number];

	if (in->decoded.mnemonic != ZYDIS_MNEMONIC_CALL || state.sp_known || !state.ra_by_sp ||
	    state.alias == STACKSTATE_NO_REG)
		return number;
	state.sp_known = true;
	state.sp_off = state.ra_off + WORD;
	return add_state(flow, &state);
}

static void mark(struct flow *flow, struct path path, uint32_t next)
{
	flow->seen[path.offset] = path.state;
	for (uint32_t i = path.offset + 1; i < next; i++)
		if (flow->seen[i] == UNSEEN)
			flow->seen[i] = INSIDE;
}

/* Past one instruction. false: the path ends with it. */
static bool pass(struct flow *flow, struct path *path)
{
	struct stackstate state = flow->states.at[path->state];
	struct instruction in;
	uint32_t next;

	if (flow->code->kind == STACKFLOW_COMPILED &&
	    stackdecode_skip(&flow->decode, path->offset, &state, &next)) {
		mark(flow, *path, next);
		path->offset = next;
		return true;
	}
	if (!stackdecode_at(&flow->decode, path->offset, &in)) {
		mark(flow, *path, path->offset + 1);
		return false;
	}
	path->state = settle(flow, &in, path->state);
	mark(flow, *path, in.next);
	add_branch(flow, &in, path->state);
	if (stackdecode_is_end(&in))
		return false;
	state = flow->states.at[path->state];
	stackeffect_apply(&state, &in);
	/* mov -0x48(%rbp),%rsp: the frame that rbp is of is an interpreter's, or goes on to be. */
	if (flow->code->kind == STACKFLOW_INTERPRETER && !stackstate_has_base(&state))
		state = stackstate_interpreted;
	if (memcmp(&state, &flow->states.at[path->state], sizeof(state)) != 0)
		path->state = add_state(flow, &state);
	path->offset = in.next;
	return true;
}

static void follow(struct flow *flow, struct path path)
{
	while (path.offset < flow->code->len_bytes && flow->seen[path.offset] == UNSEEN)
		if (!pass(flow, &path))
			return;
}

static void follow_all(struct flow *flow, size_t offset, const struct stackstate *state)
{
	vec_push(&flow->paths, (struct path){(uint32_t)offset, add_state(flow, state)});
	while (flow->paths.nr)
		follow(flow, flow->paths.at[--flow->paths.nr]);
}

static void follow_entries(struct flow *flow)
{
	for (size_t i = 0; i < flow->code->nr_entries; i++) {
		const struct stackflow_entry *entry = &flow->code->entries[i];

		if (entry->offset < flow->code->len_bytes)
			follow_all(flow, entry->offset,
				   entry->sender_in_r13 ? &stackstate_sender_entry
							: &stackstate_entry);
	}
}

/* Then what no path has led to. */
static void follow_rest(struct flow *flow)
{
	struct stackstate body = in_body(flow->code);

	for (size_t i = 0; i < flow->code->len_bytes; i++)
		if (flow->seen[i] == UNSEEN)
			follow_all(flow, i, &body);
}

/* Rules ------------------------------------------------------------------------------------------ */

static struct unwind_rule rule_of(const struct flow *flow, const struct stackstate *state)
{
	struct unwind_rule rule = {.kind = UNWIND_GAP};
	struct stackstate body;

	if (stackstate_rule(state, flow->code->kind != STACKFLOW_COMPILED, &rule))
		return rule;
	/* Lost, most likely in bytes that are no code; a gap, if there is no usual frame. */
	if (flow->code->frame_bytes) {
		body = in_body(flow->code);
		stackstate_rule(&body, false, &rule);
	}
	return rule;
}

static void emit_rows(const struct flow *flow, cfa_row_fn emit, void *ctx)
{
	struct unwind_row row = {.elf_addr = 0};
	uint32_t last_state = UNSEEN;

	for (size_t i = 0; i < flow->code->len_bytes; i++) {
		struct unwind_rule rule;

		if (flow->seen[i] >= INSIDE || flow->seen[i] == last_state)
			continue;
		last_state = flow->seen[i];
		rule = rule_of(flow, &flow->states.at[last_state]);
		if (i != 0 && !memcmp(&rule, &row.rule, sizeof(rule)))
			continue;
		row.elf_addr = flow->code->addr + i;
		row.rule = rule;
		emit(ctx, &row);
	}
}

void stackflow_rows(const struct stackflow_code *code, cfa_row_fn emit, void *ctx)
{
	struct flow flow scoped(flow_release) = {.code = code};

	if (code->len_bytes > STACKFLOW_MAX_BYTES || !code->len_bytes) {
		emit(ctx, &(struct unwind_row){code->addr, {.kind = UNWIND_GAP}});
		return;
	}
	stackdecode_init(&flow.decode, code->bytes, code->len_bytes);
	flow.seen = xreallocarray(NULL, code->len_bytes, sizeof(*flow.seen));
	memset(flow.seen, 0xff, code->len_bytes * sizeof(*flow.seen));
	follow_entries(&flow);
	follow_rest(&flow);
	emit_rows(&flow, emit, ctx);
}
