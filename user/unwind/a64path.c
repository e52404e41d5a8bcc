// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where two paths meet they must agree on the caller. A path ends well at a return or a tail call with a balanced stack, at a jump
 * to where a register says, whose targets are somebody else's business, and at a trap.
 *
 * A call in a function that has not saved x30 cannot be returned from: so it must be one that does not return, and stand at the
 * end of its function.
 *
 * musl's clone, which nothing describes:
 *
 *	mov  x8, #220
 *	svc  #0			here the new thread begins, with another stack ...
 *	cbz  x0, 1f
 *	ret			... and the old one goes on
 * 1:	ldp  x1, x0, [sp], #16	there is no caller
 *	blr  x1
 *	mov  x8, #93
 *	svc  #0
 */
#include "unwind/a64path.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define MOST_OF_CHILD 16 /* instructions of a new thread, until it ends */
#define MOST_PADDING  16 /* words between functions */
#define NUMBER_REG    8

/* System calls of arm64, wherever this runs. */
enum {
	EXIT = 93,
	RT_SIGRETURN = 139,
	CLONE = 220,
	CLONE3 = 435
};

#define SIGRETURN_NUMBER 0xd2801168u /* mov x8, #139 */
#define SVC		 0xd4000001u /* svc #0 */
#define NOP		 0xd503201fu
#define SWAPPED_NOP	 0x1f2003d5u /* as the kernel's assembler pads its vdso */

enum outcome {
	GOES_ON,
	ENDS,
	FAILS
};

/* 1 for each word of the code that is at one of these addresses. */
static uint8_t *marks_of(const struct a64path *path, const uint64_t *addrs, size_t nr)
{
	uint8_t *marks = xcalloc(path->nr_words + 1, 1);

	for (size_t i = 0; i < nr; i++) {
		uint64_t offset = addrs[i] - path->code->addr;

		if (offset < path->code->len_bytes && offset % A64_BYTES == 0 &&
		    offset / A64_BYTES < path->nr_words)
			marks[offset / A64_BYTES] = 1;
	}
	return marks;
}

void a64path_open(struct a64path *path, const struct asmflow_code *code, uint64_t nr_steps)
{
	const struct a64stack none = {.numbered_reg = A64_NONE};

	*path = (struct a64path){.code = code, .nr_steps = nr_steps};
	path->nr_words = (uint32_t)(code->len_bytes / A64_BYTES);
	path->seen = xreallocarray(NULL, path->nr_words + 1, sizeof(*path->seen));
	memset(path->seen, 0xff, path->nr_words * sizeof(*path->seen));
	path->begins = marks_of(path, code->begins, code->nr_begins);
	path->bounds = marks_of(path, code->ends, code->nr_ends);
	for (uint32_t i = 0; i < path->nr_words; i++)
		path->bounds[i] |= path->begins[i];
	/* They are lost: what a path knows never agrees with them. */
	for (int state = 0; state < A64PATH_NR_SPECIAL; state++)
		vec_push(&path->states, none);
}

void a64path_release(struct a64path *path)
{
	free(path->seen);
	free(path->begins);
	free(path->bounds);
	vec_release(&path->states);
	vec_release(&path->jumps);
	vec_release(&path->calls);
	vec_release(&path->outside);
	vec_release(&path->branches);
	vec_release(&path->followed);
}

struct a64 a64path_at(const struct a64path *path, uint32_t word)
{
	return a64_decode(a64_word(&path->code->bytes[(size_t)word * A64_BYTES]));
}

static uint32_t word_at(const struct a64path *path, uint32_t word)
{
	return a64_word(&path->code->bytes[(size_t)word * A64_BYTES]);
}

bool a64path_is_padding(const struct a64path *path, uint32_t word)
{
	uint32_t bytes = word_at(path, word);

	return bytes == 0 || bytes == NOP || bytes == SWAPPED_NOP;
}

bool a64path_is_sigreturn(const struct a64path *path, uint32_t word)
{
	return word + 1 < path->nr_words && word_at(path, word) == SIGRETURN_NUMBER &&
	       word_at(path, word + 1) == SVC;
}

/* Attempts --------------------------------------------------------------------------------------- */

void a64path_begin(struct a64path *path, bool is_known)
{
	path->is_known = is_known;
	path->nr_states_proven = path->states.nr;
	path->followed.nr = path->calls.nr = path->outside.nr = 0;
}

struct a64path_mark a64path_mark(const struct a64path *path)
{
	return (struct a64path_mark){path->followed.nr, path->states.nr, path->jumps.nr};
}

void a64path_undo(struct a64path *path, const struct a64path_mark *mark)
{
	for (size_t i = mark->nr_followed; i < path->followed.nr; i++)
		path->seen[path->followed.at[i]] = A64PATH_UNSEEN;
	path->followed.nr = mark->nr_followed;
	path->states.nr = mark->nr_states;
	path->jumps.nr = mark->nr_jumps;
	path->branches.nr = 0;
}

static uint32_t add_state(struct a64path *path, const struct a64stack *state)
{
	vec_push(&path->states, *state);
	return (uint32_t)path->states.nr - 1;
}

static void claim(struct a64path *path, uint32_t word, uint32_t state)
{
	path->seen[word] = state;
	vec_push(&path->followed, word);
}

/* Instructions ----------------------------------------------------------------------------------- */

/* Do both states lead to the same caller? */
static bool agree(const struct a64path *path, uint32_t a, uint32_t b)
{
	struct unwind_rule x, y;

	return a64stack_rule(&path->states.at[a], &x) && a64stack_rule(&path->states.at[b], &y) &&
	       !memcmp(&x, &y, sizeof(x));
}

/* Handles a path that reaches code which was followed before. */
static bool meet(struct a64path *path, uint32_t word, uint32_t state)
{
	if (!agree(path, path->seen[word], state))
		return false;
	path->is_proven |= path->seen[word] < path->nr_states_proven;
	return true;
}

/* Does another function begin there, which this one cannot be in? */
static bool is_anothers(const struct a64path *path, uint32_t word, uint32_t state)
{
	return path->bounds[word] && !a64stack_is_balanced(&path->states.at[state]);
}

/* The word that a branch leads to. false: outside the code. */
static bool target_of(struct a64path *path, const struct a64 *in, uint32_t from, uint32_t *word)
{
	int64_t target = (int64_t)from + in->imm / A64_BYTES;

	*word = (uint32_t)target;
	if (target >= 0 && target < (int64_t)path->nr_words)
		return true;
	path->reaches_beyond |= target > 0 && path->code->goes_on;
	if (target > 0)
		vec_push(&path->outside, path->code->addr + (uint64_t)target * A64_BYTES);
	return false;
}

static bool branch(struct a64path *path, const struct a64 *in, uint32_t from, uint32_t state)
{
	uint32_t word;

	if (!target_of(path, in, from, &word)) {
		path->has_left = true;
		return a64stack_is_balanced(&path->states.at[state]); /* a tail call, it seems */
	}
	if (path->seen[word] != A64PATH_UNSEEN)
		return meet(path, word, state);
	if (is_anothers(path, word, state))
		return false;
	vec_push(&path->branches, (struct a64path_branch){word, state});
	return true;
}

/* To where a register says: through a table, or a tail call. What follows may fit later, with the stack as it is here. */
static enum outcome jump(struct a64path *path, uint32_t state)
{
	const struct a64stack *at = &path->states.at[state];

	path->has_jumped = true;
	vec_for_each(&path->jumps, known)
		if (!memcmp(known, at, sizeof(*at)))
			return ENDS;
	if (path->jumps.nr < A64PATH_MAX_JUMPS)
		vec_push(&path->jumps, *at);
	return ENDS;
}

/* Whether behind a call nothing but padding is left of its function, or what is no code. */
static bool is_last(const struct a64path *path, uint32_t word)
{
	uint32_t next = word + 1, limit = next + MOST_PADDING;

	while (next < path->nr_words && next < limit && !path->bounds[next] &&
	       a64path_is_padding(path, next))
		next++;
	if (next >= path->nr_words || path->bounds[next])
		return true;
	return a64path_at(path, next).class == A64_UNKNOWN;
}

static enum outcome call(struct a64path *path, const struct a64 *in, uint32_t word, uint32_t state)
{
	bool is_end = path->is_known && is_last(path, word);
	uint32_t target;

	if (in->class == A64_BL && target_of(path, in, word, &target))
		vec_push(&path->calls, target);
	if (is_end)
		return ENDS;
	return path->states.at[state].ra_how == A64STACK_KEPT ? FAILS : GOES_ON;
}

/* The new thread's code has no caller, up to its end, which is near. */
static bool claim_child(struct a64path *path, uint32_t word)
{
	struct a64stack state = a64stack_entry;

	for (int i = 0; i < MOST_OF_CHILD && word < path->nr_words; i++, word++) {
		struct a64 in = a64path_at(path, word);

		if (path->seen[word] != A64PATH_UNSEEN ||
		    (a64_is_relative_branch(&in) && in.class != A64_BL))
			return false;
		claim(path, word, A64PATH_ROOT);
		if (in.class == A64_SVC && state.numbered_reg == NUMBER_REG && state.number == EXIT)
			return true;
		if (a64_is_end(&in))
			return in.class == A64_BRK;
		a64stack_apply(&state, &in);
	}
	return false;
}

/* Behind the system call both threads go on, and a branch tells which is new. */
static enum outcome follow_clone(struct a64path *path, uint32_t word, uint32_t state)
{
	struct a64 in;
	uint32_t child;

	if (word + 2 >= path->nr_words || path->seen[word + 1] != A64PATH_UNSEEN)
		return FAILS;
	in = a64path_at(path, word + 1);
	claim(path, word, state);
	claim(path, word + 1, A64PATH_CLONE);
	if (!target_of(path, &in, word + 1, &child) || !claim_child(path, child))
		return FAILS;
	if (path->seen[word + 2] != A64PATH_UNSEEN)
		return meet(path, word + 2, state) ? ENDS : FAILS;
	vec_push(&path->branches, (struct a64path_branch){word + 2, state});
	return ENDS;
}

/* svc that returns twice, in a function without a frame, and a branch of who gets 0. fork's child has its caller: no such branch. */
static bool is_clone(const struct a64path *path, uint32_t word, const struct a64stack *state)
{
	struct a64 next;

	if (state->numbered_reg != NUMBER_REG ||
	    (state->number != CLONE && state->number != CLONE3) || !a64stack_is_balanced(state) ||
	    word + 1 >= path->nr_words)
		return false;
	next = a64path_at(path, word + 1);
	return next.class == A64_CBZ && !next.is_not && next.rn == 0;
}

/* Follows an instruction that does not only lead to the next one. */
static enum outcome transfer(struct a64path *path, const struct a64 *in, uint32_t word,
			     uint32_t state)
{
	const struct a64stack *at = &path->states.at[state];

	switch (in->class) {
	case A64_BL:
	case A64_BLR:
		return call(path, in, word, state);
	case A64_RET:
		path->is_proven = true;
		return in->rn == A64_LR && a64stack_is_balanced(at) ? ENDS : FAILS;
	case A64_BR:
		return jump(path, state);
	case A64_BRK:
		return ENDS;
	case A64_UNKNOWN:
	case A64_ERET:
		return FAILS;
	case A64_SVC:
		return at->numbered_reg == NUMBER_REG && at->number == RT_SIGRETURN ? FAILS
										    : GOES_ON;
	}
	if (!a64_is_relative_branch(in))
		return GOES_ON;
	if (!branch(path, in, word, state))
		return FAILS;
	return a64_is_end(in) ? ENDS : GOES_ON;
}

static enum outcome pass(struct a64path *path, struct a64path_branch *at)
{
	struct a64stack state = path->states.at[at->state];
	struct a64 in = a64path_at(path, at->word);
	enum outcome outcome;

	if (!path->nr_steps)
		return FAILS;
	path->nr_steps--;
	if (in.class == A64_SVC && is_clone(path, at->word, &state))
		return follow_clone(path, at->word, at->state);
	claim(path, at->word, at->state);
	if (a64stack_is_broken_by(&state, &in))
		return FAILS;
	outcome = transfer(path, &in, at->word, at->state);
	if (outcome != GOES_ON)
		return outcome;
	a64stack_apply(&state, &in);
	if (a64stack_is_lost(&state))
		return FAILS;
	if (memcmp(&state, &path->states.at[at->state], sizeof(state)) != 0)
		at->state = add_state(path, &state);
	at->word++;
	return GOES_ON;
}

/* To its end. */
static bool follow(struct a64path *path, struct a64path_branch at)
{
	while (at.word < path->nr_words) {
		enum outcome outcome;

		if (path->seen[at.word] != A64PATH_UNSEEN)
			return meet(path, at.word, at.state);
		if (is_anothers(path, at.word, at.state))
			return false;
		outcome = pass(path, &at);
		if (outcome != GOES_ON)
			return outcome == ENDS;
	}
	path->reaches_beyond |= path->code->goes_on;
	return false;
}

bool a64path_follow(struct a64path *path, uint32_t word, const struct a64stack *state)
{
	struct a64path_mark before = a64path_mark(path);
	bool fits = true;

	path->is_proven = path->has_jumped = path->has_left = false;
	vec_push(&path->branches, (struct a64path_branch){word, add_state(path, state)});
	while (fits && path->branches.nr) {
		struct a64path_branch at = path->branches.at[--path->branches.nr];

		/* What a register holds here, another path may not have put there. */
		if (path->states.at[at.state].numbered_reg != A64_NONE) {
			struct a64stack plain = path->states.at[at.state];

			plain.numbered_reg = A64_NONE;
			plain.number = 0;
			at.state = add_state(path, &plain);
		}
		fits = follow(path, at);
	}
	if (!fits)
		a64path_undo(path, &before);
	return fits;
}
