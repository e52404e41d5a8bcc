// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where two paths meet they must agree on the caller. A path ends well at a return or a tail call with a balanced stack, at
 * a jump through a table, whose targets are somebody else's business, and at a trap.
 */
#include "unwind/asmpath.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "unwind/asmflow.h"
#include "unwind/asmsyscall.h"
#include "unwind/stackabi.h"

#define MOST_OF_CHILD 64 /* instructions of a new thread, until it ends */

enum outcome {
	GOES_ON,
	ENDS,
	FAILS
};

/* They are of no function's stack: what a path knows never agrees with them. */
static void add_special_states(struct asmpath *path)
{
	const struct stackstate none = {.alias = STACKSTATE_NO_REG, .ra_reg = STACKSTATE_NO_REG};

	for (int state = 0; state < ASMPATH_NR_SPECIAL; state++)
		vec_push(&path->states, none);
}

/* 1 for each byte of the code that is at one of these addresses. */
static uint8_t *marks_of(const struct asmflow_code *code, const uint64_t *addrs, size_t nr)
{
	uint8_t *marks = xcalloc(code->len_bytes, 1);

	for (size_t i = 0; i < nr; i++)
		if (addrs[i] - code->addr < code->len_bytes)
			marks[addrs[i] - code->addr] = 1;
	return marks;
}

void asmpath_open(struct asmpath *path, const struct asmflow_code *code, uint64_t nr_steps)
{
	*path = (struct asmpath){.code = code, .nr_steps = nr_steps};
	stackdecode_init(&path->decode, code->bytes, code->len_bytes);
	path->seen = xreallocarray(NULL, code->len_bytes, sizeof(*path->seen));
	memset(path->seen, 0xff, code->len_bytes * sizeof(*path->seen));
	path->begins = marks_of(code, code->begins, code->nr_begins);
	path->bounds = marks_of(code, code->ends, code->nr_ends);
	for (size_t i = 0; i < code->len_bytes; i++)
		path->bounds[i] |= path->begins[i];
	path->no_returns = xcalloc(code->len_bytes, 1);
	add_special_states(path);
}

void asmpath_release(struct asmpath *path)
{
	free(path->seen);
	free(path->begins);
	free(path->bounds);
	free(path->no_returns);
	vec_release(&path->states);
	vec_release(&path->jumps);
	vec_release(&path->leads);
	vec_release(&path->outside);
	vec_release(&path->branches);
	vec_release(&path->instructions);
}

/* Attempts --------------------------------------------------------------------------------------- */

void asmpath_begin(struct asmpath *path, bool is_known)
{
	path->is_known = is_known;
	path->nr_states_proven = path->states.nr;
	path->instructions.nr = path->leads.nr = path->outside.nr = 0;
}

struct asmpath_mark asmpath_mark(const struct asmpath *path)
{
	return (struct asmpath_mark){path->instructions.nr, path->states.nr, path->jumps.nr};
}

void asmpath_undo(struct asmpath *path, const struct asmpath_mark *mark)
{
	for (size_t i = mark->nr_instructions; i < path->instructions.nr; i++) {
		const struct asmpath_piece *piece = &path->instructions.at[i];

		memset(&path->seen[piece->offset], 0xff, piece->len_bytes * sizeof(*path->seen));
	}
	path->instructions.nr = mark->nr_instructions;
	path->states.nr = mark->nr_states;
	path->jumps.nr = mark->nr_jumps;
	path->branches.nr = 0;
}

uint32_t asmpath_add_state(struct asmpath *path, const struct stackstate *state)
{
	vec_push(&path->states, *state);
	return (uint32_t)path->states.nr - 1;
}

/*
 * By rbp where it is a frame pointer: what is called may pop its arguments, as in the code that Node.js keeps in its file,
 * and then sp is not where it seems.
 */
bool asmpath_rule(const struct asmpath *path, uint32_t state, struct unwind_rule *rule)
{
	return stackstate_rule(&path->states.at[state], true, rule);
}

uint32_t asmpath_padding(const struct asmpath *path, uint32_t offset)
{
	struct instruction in;

	if (!path->code->bytes[offset])
		return 1;
	if (!stackdecode_at(&path->decode, offset, &in))
		return 0;
	return in.decoded.mnemonic == ZYDIS_MNEMONIC_NOP ||
			       in.decoded.mnemonic == ZYDIS_MNEMONIC_INT3
		       ? in.decoded.length
		       : 0;
}

/* Instructions ----------------------------------------------------------------------------------- */

/* false: a part of it was taken for another instruction. */
static bool claim(struct asmpath *path, struct asmpath_branch at, uint32_t next)
{
	for (uint32_t i = at.offset; i < next; i++)
		if (path->seen[i] != ASMPATH_UNSEEN)
			return false;
	for (uint32_t i = at.offset + 1; i < next; i++)
		path->seen[i] = ASMPATH_INSIDE;
	path->seen[at.offset] = at.state;
	vec_push(&path->instructions, (struct asmpath_piece){at.offset, next - at.offset});
	return true;
}

/* Do both states lead to the same caller? */
static bool agree(const struct asmpath *path, uint32_t a, uint32_t b)
{
	struct unwind_rule x, y;

	return asmpath_rule(path, a, &x) && asmpath_rule(path, b, &y) && !memcmp(&x, &y, sizeof(x));
}

/* Handles a path that reaches code which was followed before. */
static bool meet(struct asmpath *path, struct asmpath_branch at)
{
	uint32_t state = path->seen[at.offset];

	if (state == ASMPATH_INSIDE || !agree(path, state, at.state))
		return false;
	path->is_proven |= state < path->nr_states_proven;
	return true;
}

static void note_lead(struct asmpath *path, int64_t offset, bool is_called)
{
	if (offset >= (int64_t)path->code->len_bytes && is_called)
		vec_push(&path->outside, path->code->addr + (uint64_t)offset);
	else if (offset >= 0 && offset < (int64_t)path->code->len_bytes &&
		 path->seen[offset] == ASMPATH_UNSEEN)
		vec_push(&path->leads, (struct asmpath_lead){(uint32_t)offset, is_called});
}

/* Does another function begin there, which this one cannot be in? */
static bool is_anothers(const struct asmpath *path, struct asmpath_branch at)
{
	return path->bounds[at.offset] && !stackabi_is_balanced(&path->states.at[at.state]);
}

static bool branch(struct asmpath *path, int64_t offset, uint32_t state)
{
	if (offset < 0 || offset >= (int64_t)path->code->len_bytes) {
		path->reaches_beyond |= offset >= 0 && path->code->goes_on;
		note_lead(path, offset, true);
		path->has_left = true;
		return stackabi_is_balanced(&path->states.at[state]); /* a tail call, it seems */
	}
	if (path->seen[offset] != ASMPATH_UNSEEN)
		return meet(path, (struct asmpath_branch){(uint32_t)offset, state});
	if (is_anothers(path, (struct asmpath_branch){(uint32_t)offset, state}))
		return false;
	vec_push(&path->branches, (struct asmpath_branch){(uint32_t)offset, state});
	return true;
}

/* What follows may fit later, with the stack as it is here. */
static enum outcome note_jump(struct asmpath *path, uint32_t state)
{
	const struct stackstate *at = &path->states.at[state];

	path->has_left = true;
	vec_for_each(&path->jumps, known)
		if (!memcmp(known, at, sizeof(*at)))
			return ENDS;
	if (path->jumps.nr < ASMPATH_MAX_JUMPS)
		vec_push(&path->jumps, *at);
	return ENDS;
}

/* To what a register or memory says: through a table, or a tail call. That alone proves nothing. */
static enum outcome jump(struct asmpath *path, uint32_t state)
{
	path->has_jumped = true;
	path->is_undone |= path->had_frame && stackabi_is_balanced(&path->states.at[state]);
	return note_jump(path, state);
}

static bool never_returns(const struct asmpath *path, int64_t offset)
{
	return offset >= 0 && offset < (int64_t)path->code->len_bytes && path->no_returns[offset];
}

/*
 * A call that does not return stands at the end of a function: nothing but padding is behind it, and then another function
 * begins; but so may the head of a loop. What is behind the padding may fit later, as the target of a jump does.
 */
static enum outcome follow_call(struct asmpath *path, const struct instruction *in, uint32_t state)
{
	uint32_t offset = in->next, len;

	while (offset < path->code->len_bytes && offset - in->next < ASMPATH_ALIGNS &&
	       !path->bounds[offset] && (len = asmpath_padding(path, offset)))
		offset += len;
	if (offset < path->code->len_bytes && path->bounds[offset]) {
		path->is_ended |= path->is_known;
		return ENDS;
	}
	if (offset == in->next || (path->code->addr + offset) % ASMPATH_ALIGNS)
		return GOES_ON;
	return path->is_known ? note_jump(path, state) : FAILS;
}

/* The new thread's code has no caller, up to its end, which is near. */
static bool claim_child(struct asmpath *path, uint32_t offset)
{
	for (int i = 0; i < MOST_OF_CHILD && offset < path->code->len_bytes && path->nr_steps;
	     i++) {
		struct instruction in;

		path->nr_steps--;
		if (!stackdecode_at(&path->decode, offset, &in) ||
		    !claim(path, (struct asmpath_branch){offset, ASMPATH_ROOT}, in.next))
			return false;
		if (stackdecode_is_end(&in))
			return true;
		offset = in.next;
	}
	return false;
}

static enum outcome follow_clone(struct asmpath *path, struct asmpath_branch at)
{
	struct asmsyscall_clone clone;

	if (memcmp(&path->states.at[at.state], &stackstate_entry, sizeof(stackstate_entry)) != 0 ||
	    !asmsyscall_clone_at(path, at.offset, &clone) || !claim(path, at, clone.test) ||
	    !claim(path, (struct asmpath_branch){clone.test, ASMPATH_CLONE}, clone.branch) ||
	    !claim(path, (struct asmpath_branch){clone.branch, ASMPATH_CLONE}, clone.child) ||
	    !claim_child(path, clone.child))
		return FAILS;
	return branch(path, clone.parent, at.state) ? ENDS : FAILS;
}

/* Follows an instruction that does not only lead to the next one. */
static enum outcome follow_transfer(struct asmpath *path, const struct instruction *in,
				    uint32_t state)
{
	bool is_relative;
	int64_t target;

	if (in->decoded.mnemonic == ZYDIS_MNEMONIC_RET) {
		path->is_proven = true;
		return stackabi_is_balanced(&path->states.at[state]) ? ENDS : FAILS;
	}
	is_relative = stackdecode_target(in, &target);
	if (in->decoded.mnemonic == ZYDIS_MNEMONIC_CALL) {
		path->has_called = true;
		if (is_relative)
			note_lead(path, target, true);
		return is_relative && never_returns(path, target) ? ENDS
								  : follow_call(path, in, state);
	}
	if (is_relative && !branch(path, target, state))
		return FAILS;
	if (in->decoded.mnemonic == ZYDIS_MNEMONIC_JMP && !is_relative)
		return jump(path, state);
	return stackdecode_is_end(in) ? ENDS : GOES_ON;
}

static enum outcome pass(struct asmpath *path, struct asmpath_branch *at)
{
	struct stackstate state = path->states.at[at->state];
	struct instruction in;
	enum outcome outcome;
	int64_t address;
	uint32_t next;

	if (!path->nr_steps)
		return FAILS;
	path->nr_steps--;
	if (stackdecode_skip(&path->decode, at->offset, &state, &next)) {
		if (!claim(path, *at, next))
			return FAILS;
		at->offset = next;
		return GOES_ON;
	}
	if (!stackdecode_at(&path->decode, at->offset, &in))
		return FAILS;
	if (in.decoded.mnemonic == ZYDIS_MNEMONIC_SYSCALL &&
	    asmsyscall_changes_stack(path, at->offset))
		return follow_clone(path, *at);
	if (!claim(path, *at, in.next) || stackabi_is_broken_by(&state, &in))
		return FAILS;
	if (stackdecode_address(&in, &address))
		note_lead(path, address, false);
	outcome = follow_transfer(path, &in, at->state);
	if (outcome != GOES_ON)
		return outcome;
	stackeffect_apply(&state, &in);
	if (stackabi_is_lost(&state))
		return FAILS;
	path->had_frame |= !stackabi_is_balanced(&state);
	if (memcmp(&state, &path->states.at[at->state], sizeof(state)) != 0)
		at->state = asmpath_add_state(path, &state);
	at->offset = in.next;
	return GOES_ON;
}

/* To its end. */
static bool follow(struct asmpath *path, struct asmpath_branch at)
{
	while (at.offset < path->code->len_bytes) {
		enum outcome outcome;

		if (path->seen[at.offset] != ASMPATH_UNSEEN)
			return meet(path, at);
		if (is_anothers(path, at))
			return false;
		outcome = pass(path, &at);
		if (outcome != GOES_ON)
			return outcome == ENDS;
	}
	path->reaches_beyond |= path->code->goes_on;
	return false;
}

bool asmpath_follow(struct asmpath *path, uint32_t offset, const struct stackstate *state)
{
	struct asmpath_mark before = asmpath_mark(path);
	bool fits = true;

	path->is_proven = path->is_ended = path->is_undone = false;
	path->has_jumped = path->has_called = path->has_left = path->had_frame = false;
	vec_push(&path->branches, (struct asmpath_branch){offset, asmpath_add_state(path, state)});
	while (fits && path->branches.nr)
		fits = follow(path, path->branches.at[--path->branches.nr]);
	if (!fits)
		asmpath_undo(path, &before);
	return fits;
}
