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
#include "base/vec.h"
#include "unwind/stackdecode.h"

#define UNSEEN		UINT32_MAX
#define INSIDE		(UINT32_MAX - 1) /* not the first byte of an instruction */
#define LOST		0		 /* the state of padding */
#define LOST_CODE	1		 /* of code that stays a gap */
#define STEPS_PER_BYTE	2		 /* of all attempts together */
#define MOST_JUMPS	4		 /* whose stack is tried, of one function */
#define FUNCTION_ALIGNS 16

struct path {
	uint32_t offset, state;
};

struct piece {
	uint32_t offset, len_bytes;
};

struct flow {
	const struct asmflow_code *code;
	struct stackdecode decode;
	uint32_t *seen; /* for each byte: the number of its state, UNSEEN or INSIDE */
	vec_of(struct stackstate) states;
	vec_of(struct path) paths;	   /* still to be followed */
	vec_of(struct piece) instructions; /* of this attempt */
	vec_of(uint32_t) calls;		   /* what it calls */
	vec_of(uint32_t) entries;	   /* called by what is known, and not looked at yet */
	vec_of(struct stackstate)
		jumps;	      /* at the jumps through a table since the last function's beginning */
	uint8_t *is_branched; /* for each byte: given-up code leads there */
	size_t nr_states_proven; /* the states from this one on are not proven right yet */
	uint64_t nr_steps;
	bool is_proven, reaches_beyond; /* of this attempt */
};

enum outcome {
	GOES_ON,
	ENDS,
	FAILS
};

static void flow_release(struct flow *flow)
{
	free(flow->seen);
	free(flow->is_branched);
	vec_release(&flow->states);
	vec_release(&flow->paths);
	vec_release(&flow->instructions);
	vec_release(&flow->calls);
	vec_release(&flow->entries);
	vec_release(&flow->jumps);
}

static uint32_t add_state(struct flow *flow, const struct stackstate *state)
{
	vec_push(&flow->states, *state);
	return (uint32_t)flow->states.nr - 1;
}

/* The stack and rbp are as they were at a function's beginning. */
static bool is_balanced(const struct stackstate *state)
{
	return state->sp_known && state->sp_off == stackstate_entry.sp_off &&
	       state->fp_how == UNWIND_SAME;
}

/* No function that follows the ABI does this to what its caller is found by. */
static bool is_lost(const struct stackstate *state)
{
	return !stackstate_has_base(state) || state->fp_how == UNWIND_LOST || state->ra_by_sp ||
	       state->ra_reg != STACKSTATE_NO_REG ||
	       (state->sp_known && state->sp_off < stackstate_entry.sp_off);
}

/*
 * By rbp where it is a frame pointer: what is called may pop its arguments, as in the code that Node.js keeps in its file,
 * and then sp is not where it seems.
 */
static bool rule_of(const struct flow *flow, uint32_t state, struct unwind_rule *rule)
{
	return stackstate_rule(&flow->states.at[state], true, rule);
}

/* Do both lead to the same caller? */
static bool agree(const struct flow *flow, uint32_t a, uint32_t b)
{
	struct unwind_rule x, y;

	return rule_of(flow, a, &x) && rule_of(flow, b, &y) && !memcmp(&x, &y, sizeof(x));
}

/* What stands between functions. The length of one piece of it; 0: it is code. */
static uint32_t padding_at(const struct flow *flow, uint32_t offset)
{
	struct instruction in;

	if (!flow->code->bytes[offset])
		return 1;
	if (!stackdecode_at(&flow->decode, offset, &in))
		return 0;
	return in.decoded.mnemonic == ZYDIS_MNEMONIC_NOP ||
			       in.decoded.mnemonic == ZYDIS_MNEMONIC_INT3
		       ? in.decoded.length
		       : 0;
}

/* Attempts --------------------------------------------------------------------------------------- */

/* An instruction of the attempt's. false: a part of it was taken for the beginning of another one. */
static bool claim(struct flow *flow, struct path path, uint32_t next)
{
	for (uint32_t i = path.offset; i < next; i++)
		if (flow->seen[i] != UNSEEN)
			return false;
	for (uint32_t i = path.offset + 1; i < next; i++)
		flow->seen[i] = INSIDE;
	flow->seen[path.offset] = path.state;
	vec_push(&flow->instructions, (struct piece){path.offset, next - path.offset});
	return true;
}

/* Where the path has met code that was followed before. */
static bool meets(struct flow *flow, struct path path)
{
	uint32_t state = flow->seen[path.offset];

	if (state == INSIDE || !agree(flow, state, path.state))
		return false;
	flow->is_proven |= state < flow->nr_states_proven;
	return true;
}

static bool branch(struct flow *flow, int64_t offset, uint32_t state)
{
	if (offset < 0 || offset >= (int64_t)flow->code->len_bytes) {
		flow->reaches_beyond |= offset >= 0 && flow->code->goes_on;
		return is_balanced(&flow->states.at[state]); /* a tail call, it seems */
	}
	if (flow->seen[offset] != UNSEEN)
		return meets(flow, (struct path){(uint32_t)offset, state});
	vec_push(&flow->paths, (struct path){(uint32_t)offset, state});
	return true;
}

/* A jump to what a register or memory says: through a table, or a tail call. It proves nothing. */
static enum outcome jump(struct flow *flow, uint32_t state)
{
	if (flow->jumps.nr < MOST_JUMPS)
		vec_push(&flow->jumps, flow->states.at[state]);
	return ENDS;
}

/*
 * What the kernel is asked for may not come back, or not with this stack: sigreturn, clone. Functions that ask have
 * nothing to do with the others.
 */
static enum outcome leave(struct flow *flow, const struct instruction *in, uint32_t state)
{
	bool is_call = in->decoded.mnemonic == ZYDIS_MNEMONIC_CALL, is_branch;
	int64_t target;

	if (in->decoded.mnemonic == ZYDIS_MNEMONIC_RET) {
		flow->is_proven = true;
		return is_balanced(&flow->states.at[state]) ? ENDS : FAILS;
	}
	if (in->decoded.mnemonic == ZYDIS_MNEMONIC_SYSCALL)
		return FAILS;
	is_branch = stackdecode_target(in, &target);
	if (is_branch && !is_call && !branch(flow, target, state))
		return FAILS;
	if (is_branch && is_call && target >= 0 && target < (int64_t)flow->code->len_bytes &&
	    flow->seen[target] == UNSEEN)
		vec_push(&flow->calls, (uint32_t)target);
	if (in->decoded.mnemonic == ZYDIS_MNEMONIC_JMP && !is_branch)
		return jump(flow, state);
	return stackdecode_is_end(in) ? ENDS : GOES_ON;
}

/* Where rbp is pushed to, or popped from. */
static bool is_at_fp_slot(const struct stackstate *state)
{
	return state->sp_known && state->fp_how == UNWIND_AT_CFA && state->fp_off == -state->sp_off;
}

static bool writes_return_address(const struct stackstate *state, const struct instruction *in)
{
	const ZydisDecodedOperand *to = &in->operands[0];

	return in->decoded.operand_count_visible && to->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
	       to->mem.base == ZYDIS_REGISTER_RSP && to->mem.index == ZYDIS_REGISTER_NONE &&
	       state->sp_known && to->mem.disp.value == state->sp_off - stackstate_entry.sp_off;
}

static bool is_register(const ZydisDecodedOperand *operand, ZydisRegister reg)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->reg.value == reg;
}

/* What stackeffect_apply() takes for an idiom of just-in-time compilers, or does not look at. */
static bool is_odd(const struct stackstate *state, const struct instruction *in)
{
	bool on_fp = is_register(&in->operands[0], ZYDIS_REGISTER_RBP);

	switch (in->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		return on_fp && !state->sp_known;
	case ZYDIS_MNEMONIC_POP:
		return on_fp && !is_at_fp_slot(state);
	case ZYDIS_MNEMONIC_LEAVE:
		return !state->fp_known;
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_RET:
		return false;
	case ZYDIS_MNEMONIC_MOV:
		if (on_fp && is_register(&in->operands[1], ZYDIS_REGISTER_RSP) && !state->sp_known)
			return true;
		break;
	default:
		break;
	}
	return writes_return_address(state, in);
}

/* A call that does not return stands at the end of a function: nothing but padding is behind it. */
static bool ends_with_call(const struct flow *flow, const struct instruction *in)
{
	uint32_t offset = in->next, len;

	if (in->decoded.mnemonic != ZYDIS_MNEMONIC_CALL)
		return false;
	while (offset < flow->code->len_bytes && offset - in->next < FUNCTION_ALIGNS &&
	       (len = padding_at(flow, offset)))
		offset += len;
	return offset > in->next && !((flow->code->addr + offset) % FUNCTION_ALIGNS);
}

static enum outcome pass(struct flow *flow, struct path *path)
{
	struct stackstate state = flow->states.at[path->state];
	struct instruction in;
	enum outcome outcome;
	uint32_t next;

	if (!flow->nr_steps--) {
		flow->nr_steps = 0;
		return FAILS;
	}
	if (stackdecode_skip(&flow->decode, path->offset, &state, &next)) {
		if (!claim(flow, *path, next))
			return FAILS;
		path->offset = next;
		return GOES_ON;
	}
	if (!stackdecode_at(&flow->decode, path->offset, &in) || !claim(flow, *path, in.next))
		return FAILS;
	if (is_odd(&state, &in) || ends_with_call(flow, &in))
		return FAILS;
	outcome = leave(flow, &in, path->state);
	if (outcome != GOES_ON)
		return outcome;
	stackeffect_apply(&state, &in);
	if (is_lost(&state))
		return FAILS;
	if (memcmp(&state, &flow->states.at[path->state], sizeof(state)) != 0)
		path->state = add_state(flow, &state);
	path->offset = in.next;
	return GOES_ON;
}

static bool follow(struct flow *flow, struct path path)
{
	while (path.offset < flow->code->len_bytes) {
		enum outcome outcome;

		if (flow->seen[path.offset] != UNSEEN)
			return meets(flow, path);
		outcome = pass(flow, &path);
		if (outcome != GOES_ON)
			return outcome == ENDS;
	}
	flow->reaches_beyond |= flow->code->goes_on;
	return false;
}

static void forget(struct flow *flow, size_t nr_instructions, size_t nr_states, size_t nr_jumps)
{
	for (size_t i = nr_instructions; i < flow->instructions.nr; i++) {
		const struct piece *piece = &flow->instructions.at[i];

		memset(&flow->seen[piece->offset], 0xff, piece->len_bytes * sizeof(*flow->seen));
	}
	flow->instructions.nr = nr_instructions;
	flow->states.nr = nr_states;
	flow->jumps.nr = nr_jumps;
	flow->paths.nr = 0;
}

/* All that the code at offset leads to fits this state; whether that is proven is another question. false: nothing is left. */
static bool fits(struct flow *flow, uint32_t offset, const struct stackstate *state)
{
	size_t nr_instructions = flow->instructions.nr, nr_states = flow->states.nr;
	size_t nr_jumps = flow->jumps.nr;
	bool good = true;

	flow->is_proven = false;
	vec_push(&flow->paths, (struct path){offset, add_state(flow, state)});
	while (good && flow->paths.nr)
		good = follow(flow, flow->paths.at[--flow->paths.nr]);
	if (!good)
		forget(flow, nr_instructions, nr_states, nr_jumps);
	return good;
}

static void begin(struct flow *flow)
{
	flow->nr_states_proven = flow->states.nr;
	flow->instructions.nr = flow->calls.nr = 0;
}

static bool accept(struct flow *flow)
{
	vec_for_each(&flow->calls, called)
		vec_push(&flow->entries, *called);
	return true;
}

/*
 * The target of a jump of the last function's: it fits the stack as it was there. unbalanced: only of a jump where that
 * was another one than at a beginning, which is no proof of anything.
 */
static bool fits_jump(struct flow *flow, uint32_t offset, bool unbalanced)
{
	for (size_t i = flow->jumps.nr; i-- > 0;) {
		size_t nr_instructions = flow->instructions.nr, nr_states = flow->states.nr;
		size_t nr_jumps = flow->jumps.nr;
		struct stackstate state = flow->jumps.at[i];

		if (unbalanced && is_balanced(&state))
			continue;
		if (fits(flow, offset, &state) && flow->is_proven)
			return true;
		forget(flow, nr_instructions, nr_states, nr_jumps);
	}
	return false;
}

static bool attempt_target(struct flow *flow, uint32_t offset)
{
	begin(flow);
	return fits_jump(flow, offset, false) && accept(flow);
}

/* The first code from here on that no path has led to. */
static uint32_t next_unseen(const struct flow *flow, uint32_t offset)
{
	while (offset < flow->code->len_bytes && flow->seen[offset] != UNSEEN)
		offset++;
	while (offset < flow->code->len_bytes && flow->seen[offset] == UNSEEN) {
		uint32_t len = padding_at(flow, offset);

		if (!len)
			break;
		offset += len;
	}
	return offset;
}

/* A function that goes on through a table only is proven by what the table leads to, which stands behind it. */
static bool attempt_entry(struct flow *flow, uint32_t offset)
{
	size_t nr_states = flow->states.nr;
	uint32_t next;

	flow->jumps.nr = 0;
	begin(flow);
	if (!fits(flow, offset, &stackstate_entry))
		return false;
	if (flow->is_proven)
		return accept(flow);
	next = next_unseen(flow, offset);
	if (flow->jumps.nr && next < flow->code->len_bytes && flow->seen[next] == UNSEEN &&
	    fits_jump(flow, next, true))
		return accept(flow);
	forget(flow, 0, nr_states, 0);
	return false;
}

/* Everything ------------------------------------------------------------------------------------- */

static void give_up(struct flow *flow, uint32_t state, uint32_t start, uint32_t limit)
{
	flow->seen[start] = state;
	for (uint32_t i = start + 1; i < limit; i++)
		flow->seen[i] = INSIDE;
}

/*
 * All up to where it ends: padding may be that of a loop. Nothing that it leads to is the beginning of a function. Bytes that
 * are no instructions are no part of one either.
 */
static void give_up_code(struct flow *flow, uint32_t offset)
{
	struct instruction in;
	bool is_end = false;

	while (!is_end && offset < flow->code->len_bytes && flow->seen[offset] == UNSEEN) {
		uint32_t next = offset + 1, limit = next;
		int64_t target;

		is_end = true;
		if (stackdecode_at(&flow->decode, offset, &in)) {
			next = in.next;
			is_end = stackdecode_is_end(&in);
			if (in.decoded.mnemonic != ZYDIS_MNEMONIC_CALL &&
			    stackdecode_target(&in, &target) && target >= 0 &&
			    target < (int64_t)flow->code->len_bytes)
				flow->is_branched[target] = 1;
		}
		while (limit < next && flow->seen[limit] == UNSEEN)
			limit++;
		give_up(flow, LOST_CODE, offset, limit);
		offset = limit;
	}
}

static void follow_calls(struct flow *flow)
{
	while (flow->entries.nr) {
		uint32_t entry = flow->entries.at[--flow->entries.nr];
		size_t nr_jumps = flow->jumps.nr;

		if (flow->seen[entry] != UNSEEN)
			continue;
		begin(flow);
		if (!fits(flow, entry, &stackstate_entry))
			continue;
		if (flow->is_proven)
			accept(flow);
		else
			forget(flow, 0, flow->nr_states_proven, nr_jumps);
	}
}

/*
 * false: it should be seen together with what follows. A function is aligned: the rest of one that was given up must
 * not be taken for another.
 */
static bool settle(struct flow *flow, uint32_t offset)
{
	bool may_begin = !((flow->code->addr + offset) % FUNCTION_ALIGNS) &&
			 !flow->is_branched[offset];

	flow->reaches_beyond = false;
	if (attempt_target(flow, offset) || (may_begin && attempt_entry(flow, offset)))
		return true;
	if (flow->reaches_beyond && offset > flow->code->len_bytes / 2)
		return false;
	give_up_code(flow, offset);
	flow->jumps.nr = 0;
	return true;
}

/* How many bytes are settled. */
static size_t follow_all(struct flow *flow)
{
	size_t i = 0;

	while (i < flow->code->len_bytes) {
		uint32_t len;

		follow_calls(flow);
		if (flow->seen[i] != UNSEEN) {
			i++;
			continue;
		}
		len = padding_at(flow, i);
		if (len) {
			give_up(flow, LOST, i, i + 1);
			for (uint32_t end = i + len; ++i < end && flow->seen[i] == UNSEEN;)
				flow->seen[i] = INSIDE;
		} else if (!settle(flow, i)) {
			break;
		}
	}
	return i;
}

static void emit_rows(const struct flow *flow, size_t len_bytes, cfa_row_fn emit, void *ctx)
{
	struct unwind_row row = {.elf_addr = 0};
	uint32_t last_state = UNSEEN;

	for (size_t i = 0; i < len_bytes; i++) {
		struct unwind_rule rule = {.kind = UNWIND_GAP};

		if (flow->seen[i] >= INSIDE || flow->seen[i] == last_state)
			continue;
		last_state = flow->seen[i];
		if (last_state == LOST_CODE)
			rule.cfa_reg = CFA_GAP_IS_CODE;
		else if (last_state != LOST)
			rule_of(flow, last_state, &rule);
		if (i && !memcmp(&rule, &row.rule, sizeof(rule)))
			continue;
		row.elf_addr = flow->code->addr + i;
		row.rule = rule;
		emit(ctx, &row);
	}
}

size_t asmflow_rows(const struct asmflow_code *code, cfa_row_fn emit, void *ctx)
{
	struct flow flow scoped(flow_release) = {
		.code = code, .nr_steps = (uint64_t)code->len_bytes * STEPS_PER_BYTE};
	size_t len_bytes;

	stackdecode_init(&flow.decode, code->bytes, code->len_bytes);
	flow.seen = xreallocarray(NULL, code->len_bytes, sizeof(*flow.seen));
	memset(flow.seen, 0xff, code->len_bytes * sizeof(*flow.seen));
	flow.is_branched = xcalloc(code->len_bytes, 1);
	for (int i = LOST; i <= LOST_CODE; i++)
		add_state(&flow, &(struct stackstate){.alias = STACKSTATE_NO_REG,
						      .ra_reg = STACKSTATE_NO_REG});
	len_bytes = follow_all(&flow);
	emit_rows(&flow, len_bytes, emit, ctx);
	return len_bytes;
}
