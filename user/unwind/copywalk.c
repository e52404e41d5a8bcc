// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs unwind_step() and codestep() over the copied stack, with reads bounded by the copy. The number of
 * steps is bounded by the words in the copy, so that a stack whose frame pointers form a circle ends.
 *
 * A long walk keeps its leaf side in place and the rest in a ring, as the BPF walk does, so that both give
 * the same record for the same stack.
 */
#include "unwind/copywalk.h"

#include <string.h>

#include "unwind/codestep.h"
#include "unwind/unwindstep.h"

/* A frame takes a word of the copy at least; Go's frame pointers may lead back, and in a circle. */
#define MOST_STEPS (STACK_COPY_BYTES / 8)

struct copywalk {
	const struct copywalk_target *target;
	const struct stack_copy *copy;
};

static bool read_copy(void *ctx, uint64_t addr, uint64_t *value)
{
	const struct stack_copy *copy = ((const struct copywalk *)ctx)->copy;
	uint64_t offset = addr - copy->sp;

	if (copy->len_bytes < sizeof(*value) || offset > copy->len_bytes - sizeof(*value))
		return false;
	memcpy(value, copy->bytes + offset, sizeof(*value));
	return true;
}

static enum stack_end end_of_status(enum unwind_status status, const struct stack_copy *copy)
{
	switch (status) {
	case UNWIND_AT_ROOT:
		return END_ROOT;
	case UNWIND_NO_REG:
		return END_NO_REG;
	case UNWIND_NO_MEMORY:
		return copy->is_cut ? END_BEYOND_COPY : END_UNREADABLE;
	case UNWIND_NO_MOVE:
		return END_NO_MOVE;
	case UNWIND_NO_CFI:
		return END_NO_CFI;
	case UNWIND_NEW_CODE:
		return END_UNKNOWN_CODE;
	default:
		return END_NO_RULE;
	}
}

static bool read_code(void *ctx, uint64_t addr, void *to, size_t len_bytes)
{
	const struct copywalk_target *target = ((const struct copywalk *)ctx)->target;

	return target->read_code(target->ctx, addr, to, len_bytes);
}

static bool knows(void *ctx, uint64_t ip)
{
	const struct copywalk_target *target = ((const struct copywalk *)ctx)->target;
	struct unwind_rule rule;
	bool by_fp;

	return target->find(target->ctx, ip, &rule, &by_fp) != CODE_NONE;
}

/* Makes a step where there is no rule. 0: go on; else 1 + the end. */
static int step_through_gap(struct copywalk *walk, struct unwind_regs *regs, uint64_t *guessed)
{
	const struct codestep_target target = {walk->target->arch, read_copy, read_code, knows,
					       walk};

	switch (codestep(regs, &target)) {
	case CODESTEP_GUESSED:
		*guessed = IP_GUESSED;
		return 0;
	case CODESTEP_BY_CODE:
		return 0;
	case CODESTEP_NO_FP:
		return END_NO_ROOT + 1;
	default:
		return END_NO_CFI + 1;
	}
}

static int step_by_rule(struct copywalk *walk, struct unwind_regs *regs,
			const struct unwind_rule *rule)
{
	enum unwind_status status = unwind_step(walk->target->arch, rule, regs, read_copy, walk);

	return status ? (int)end_of_status(status, walk->copy) + 1 : 0;
}

/* A frame: how its caller was found, what stands for it if it is interpreted (0: its ip), and what is to be added to its ip. */
struct frame {
	uint64_t guessed, method, exact;
};

/* One step, from a frame whose method is set to its caller. 0 to go on, else the end plus one. */
static int step_on(struct copywalk *walk, struct unwind_regs *regs, struct frame *frame)
{
	static const struct unwind_rule fp_rule = {.kind = UNWIND_FP};
	struct unwind_rule rule;
	enum code_known known;
	bool by_fp;
	int end;

	*frame = (struct frame){0};
	known = walk->target->find(walk->target->ctx, unwind_lookup_ip(regs), &rule, &by_fp);
	if (known != CODE_FOUND)
		return (known == CODE_NOT_YET ? END_UNKNOWN_CODE : END_NO_CFI) + 1;
	frame->method = unwind_method(walk->target->arch, &rule, regs, read_copy, walk);
	if (rule.kind == UNWIND_SIGNAL && !regs->ip_exact)
		frame->exact = IP_EXACT;
	if (rule.kind == UNWIND_GAP && !by_fp)
		end = step_through_gap(walk, regs, &frame->guessed);
	else
		end = step_by_rule(walk, regs, rule.kind == UNWIND_GAP ? &fp_rule : &rule);
	if (!end && !regs->ip)
		end = END_NO_ROOT + 1;
	return end;
}

/*
 * A walk that is longer than a record goes on as it does in BPF (cprof_abi.h): behind the leaf's side
 * the others overwrite the oldest of a ring. BPF hands frames over in order, so the oldest is where the next one goes.
 */
static uint64_t *place_of(uint64_t *ips, uint32_t nr)
{
	uint32_t ring = STACK_MAX_FRAMES - STACK_LEAF_FRAMES;

	return nr < STACK_LEAF_FRAMES ? &ips[nr]
				      : &ips[STACK_LEAF_FRAMES + (nr - STACK_LEAF_FRAMES) % ring];
}

static void finish_frame(uint64_t *ip, const struct frame *frame)
{
	*ip = frame->method ? frame->method : *ip | frame->exact;
}

/* Puts both ends into their order. nr: with those that were overwritten. Returns how many stay. */
static uint32_t elide(uint64_t *ips, uint32_t nr, enum stack_end end)
{
	uint64_t ring[STACK_MAX_FRAMES - STACK_LEAF_FRAMES];
	uint32_t len = STACK_MAX_FRAMES - STACK_LEAF_FRAMES, oldest;

	if (end == END_TOO_DEEP)
		return nr < STACK_LEAF_FRAMES ? nr : STACK_LEAF_FRAMES;
	if (nr <= STACK_MAX_FRAMES)
		return nr;
	oldest = (nr - STACK_LEAF_FRAMES) % len;
	memcpy(ring, ips + STACK_LEAF_FRAMES, sizeof(ring));
	for (uint32_t i = 0; i < len; i++)
		ips[STACK_LEAF_FRAMES + i] = ring[(oldest + i) % len];
	ips[STACK_LEAF_FRAMES] = IP_ELIDED;
	return STACK_MAX_FRAMES;
}

void copywalk_finish(struct record *record, const struct copywalk_target *target,
		     uint64_t ips[STACK_MAX_FRAMES])
{
	const struct stack_copy *copy = record->copy;
	struct copywalk walk = {target, copy};
	struct unwind_regs regs = {.ip = copy->ip,
				   .sp = copy->sp_lost ? 0 : copy->sp,
				   .pac_mask = copy->pac_mask,
				   .fp = copy->fp,
				   .extra = copy->extra,
				   .ip_exact = copy->ip_exact,
				   .extra_known = copy->extra_known,
				   .leaf = copy->leaf};
	uint32_t nr = record->nr_user;
	struct frame frame;
	int end = 0;

	memcpy(ips, record->user_ips, record->nr_user * sizeof(ips[0]));
	while (!end) {
		frame = (struct frame){0};
		if (nr == record->nr_user + MOST_STEPS)
			end = END_TOO_DEEP + 1;
		else
			end = step_on(&walk, &regs, &frame);
		if (nr)
			finish_frame(place_of(ips, nr - 1), &frame);
		if (!end)
			*place_of(ips, nr++) = regs.ip | frame.guessed |
					       (regs.ip_exact ? IP_EXACT : 0);
	}
	record->user_ips = ips;
	record->end = end - 1;
	record->nr_user = elide(ips, nr, record->end);
	record->copy = NULL;
}
