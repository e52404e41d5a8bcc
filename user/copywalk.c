// SPDX-License-Identifier: BSD-2-Clause
#include "copywalk.h"

#include <string.h>

#include "object/unwindstep.h"

/* A frame takes a word of the copy at least; Go's frame pointers may lead back, and in a circle. */
#define MOST_STEPS (STACK_COPY_BYTES / 8)

static bool read_copy(void *ctx, uint64_t addr, uint64_t *value)
{
	const struct stack_copy *copy = ctx;
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
	default:
		return END_NO_RULE;
	}
}

/* One step, with the frame pointer where there is no rule. 0 to go on, else the end plus one. */
static int step_on(struct unwind_regs *regs, struct unwind_rule *rule, bool by_fp,
		   const struct stack_copy *copy, uint64_t *guessed)
{
	static const struct unwind_rule fp_rule = {.kind = UNWIND_FP};
	bool is_gap = rule->kind == UNWIND_GAP;
	enum unwind_status status;

	*guessed = is_gap && !by_fp ? IP_GUESSED : 0;
	if ((is_gap || rule->kind == UNWIND_FP) && !regs->fp)
		return (*guessed ? END_NO_ROOT : END_ROOT) + 1;
	/* A guess has to look like a frame pointer. */
	if (*guessed && regs->fp < regs->sp)
		return END_NO_CFI + 1;
	status = unwind_step(is_gap ? &fp_rule : rule, regs, read_copy, (void *)copy);
	if (!status)
		return regs->ip ? 0 : END_NO_ROOT + 1;
	if (*guessed)
		return END_NO_CFI + 1;
	return end_of_status(status, copy) + 1;
}

/*
 * A walk that is longer than a record goes on as it does in BPF (cprof_abi.h): behind the leaf's side
 * the others go round. What BPF hands over is in order, so that its oldest is where the next one goes.
 */
static void push_ip(uint64_t *ips, uint32_t nr, uint64_t ip)
{
	uint32_t ring = STACK_MAX_FRAMES - STACK_LEAF_FRAMES;

	if (nr < STACK_LEAF_FRAMES)
		ips[nr] = ip;
	else
		ips[STACK_LEAF_FRAMES + (nr - STACK_LEAF_FRAMES) % ring] = ip;
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

void copywalk_finish(struct record *record, copywalk_rule_fn find, void *ctx,
		     uint64_t ips[STACK_MAX_FRAMES])
{
	const struct stack_copy *copy = record->copy;
	struct unwind_regs regs = {.ip = copy->ip,
				   .sp = copy->sp,
				   .fp = copy->fp,
				   .bx = copy->bx,
				   .ip_exact = copy->ip_exact,
				   .bx_known = copy->bx_known,
				   .leaf = copy->leaf};
	uint32_t nr = record->nr_user;
	uint64_t guessed;
	int end = 0;

	memcpy(ips, record->user_ips, record->nr_user * sizeof(ips[0]));
	while (!end) {
		struct unwind_rule rule;
		bool by_fp;

		if (nr == record->nr_user + MOST_STEPS)
			end = END_TOO_DEEP + 1;
		else if (!find(ctx, unwind_lookup_ip(&regs), &rule, &by_fp))
			end = END_NO_CFI + 1;
		else
			end = step_on(&regs, &rule, by_fp, copy, &guessed);
		if (!end)
			push_ip(ips, nr++, regs.ip | guessed);
	}
	record->user_ips = ips;
	record->end = end - 1;
	record->nr_user = elide(ips, nr, record->end);
	record->copy = NULL;
}
