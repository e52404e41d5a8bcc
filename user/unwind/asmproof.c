// SPDX-License-Identifier: BSD-2-Clause
/*
 * A function that ends in a jump through a table only is proven by what stands behind it and fits. Which evidence counts depends
 * on how it is known that a function begins there: is_proven() below.
 */
#include "unwind/asmproof.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "unwind/asmflow.h"
#include "unwind/stackabi.h"

#define UNSEEN ASMPATH_UNSEEN
/* Limits for all attempts together. Scanning SCAN_PER_STEP bytes for code that no path reached counts as one step. */
#define STEPS_PER_BYTE 1
#define SCAN_PER_STEP  8
/* The distance from the start of a function within which targets of its jumps are looked for. */
#define FUNCTION_BYTES (64u << 10)

/* Once each: an attempt that fails would fail again. */
static void add_lead(struct asmproof *proof, struct asmpath_lead lead)
{
	uint8_t bit = lead.is_called ? 1 : 2;

	if (proof->is_tried[lead.offset] & bit)
		return;
	proof->is_tried[lead.offset] |= bit;
	vec_push(&proof->entries, lead);
}

void asmproof_open(struct asmproof *proof, const struct asmflow_code *code, void *ctx)
{
	*proof = (struct asmproof){.ctx = ctx};
	asmpath_open(&proof->path, code, (uint64_t)code->len_bytes * STEPS_PER_BYTE);
	proof->is_start = xcalloc(code->len_bytes, 1);
	proof->is_tried = xcalloc(code->len_bytes, 1);
	for (size_t i = 0; i < code->nr_called; i++)
		if (code->called[i] - code->addr < code->len_bytes)
			add_lead(proof, (struct asmpath_lead){
						(uint32_t)(code->called[i] - code->addr), true});
}

void asmproof_release(struct asmproof *proof)
{
	asmpath_release(&proof->path);
	vec_release(&proof->entries);
	free(proof->is_start);
	free(proof->is_tried);
}

/* What it calls begins for certain. Its window may end before that is looked at. */
static void accept(struct asmproof *proof)
{
	struct asmpath *path = &proof->path;
	const struct asmflow_code *code = path->code;

	vec_for_each(&path->leads, lead) {
		add_lead(proof, *lead);
		if (!lead->is_called)
			continue;
		path->bounds[lead->offset] = 1;
		if (code->leads_to)
			code->leads_to(proof->ctx, code->addr + lead->offset);
	}
	for (size_t i = 0; code->leads_to && i < path->outside.nr; i++)
		code->leads_to(proof->ctx, path->outside.at[i]);
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

bool asmproof_target(struct asmproof *proof, uint32_t offset, bool is_known)
{
	asmpath_begin(&proof->path, is_known);
	if (!fits_jump(&proof->path, offset, false))
		return false;
	accept(proof);
	return true;
}

/* The start of the next known function after offset, or the end of the search. */
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
static bool is_proven(struct asmpath *path, uint32_t offset, enum asmproof_beginning beginning)
{
	switch (beginning) {
	case ASMPROOF_NAMED:
		if (!path->has_jumped)
			return true;
		break;
	case ASMPROOF_CALLED:
	case ASMPROOF_TAKEN:
		if (is_proven_by_frame(path, offset))
			return true;
		break;
	case ASMPROOF_GUESSED:
		break;
	}
	return path->is_proven || path->is_ended ||
	       (beginning >= ASMPROOF_CALLED && path->is_undone) ||
	       is_proven_by_target(path, offset);
}

bool asmproof_entry(struct asmproof *proof, uint32_t offset, enum asmproof_beginning beginning)
{
	struct asmpath *path = &proof->path;
	struct asmpath_mark before;
	bool no_return;

	asmpath_begin(path, beginning != ASMPROOF_GUESSED);
	before = asmpath_mark(path);
	if (!asmpath_follow(path, offset, &stackstate_entry))
		return false;
	no_return = !path->is_proven && !path->has_left;
	if (is_proven(path, offset, beginning)) {
		accept(proof);
		proof->is_start[offset] = 1;
		path->no_returns[offset] = no_return;
		return true;
	}
	asmpath_undo(path, &before);
	return false;
}

/* The pieces behind a function, up to the next one that is known, that it jumps to through tables. */
static void follow_targets(struct asmproof *proof, uint32_t offset)
{
	struct asmpath *path = &proof->path;
	uint32_t limit = next_begin(path, offset);

	while (path->jumps.nr && path->nr_steps) {
		uint32_t next = next_unseen(path, offset, limit);

		charge(path, next - offset);
		if (next == limit)
			return;
		offset = next;
		if (asmproof_target(proof, next, true))
			continue;
		while (offset < limit && path->seen[offset] == UNSEEN)
			offset++;
		charge(path, offset - next);
	}
}

void asmproof_follow_calls(struct asmproof *proof)
{
	struct stackstate jumps[ASMPATH_MAX_JUMPS];
	size_t nr_jumps = proof->path.jumps.nr;

	if (!proof->entries.nr)
		return;
	if (nr_jumps)
		memcpy(jumps, proof->path.jumps.at, nr_jumps * sizeof(*jumps));
	while (proof->entries.nr) {
		struct asmpath_lead lead = proof->entries.at[--proof->entries.nr];

		proof->path.jumps.nr = 0;
		if (proof->path.seen[lead.offset] == UNSEEN &&
		    asmproof_entry(proof, lead.offset,
				   lead.is_called ? ASMPROOF_CALLED : ASMPROOF_TAKEN))
			follow_targets(proof, lead.offset);
	}
	proof->path.jumps.nr = 0;
	for (size_t i = 0; i < nr_jumps; i++)
		vec_push(&proof->path.jumps, jumps[i]);
}

void asmproof_follow_known(struct asmproof *proof)
{
	for (uint32_t i = 0; i < proof->path.code->len_bytes; i++) {
		if (!proof->path.begins[i] || proof->path.seen[i] != UNSEEN)
			continue;
		proof->path.jumps.nr = 0;
		if (asmproof_entry(proof, i, ASMPROOF_NAMED))
			follow_targets(proof, i);
	}
	proof->path.jumps.nr = 0;
	asmproof_follow_calls(proof);
}
