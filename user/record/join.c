// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs are numbered from the leaf on. That of a frame on the root's side of what is left out is known from the root, since all
 * marks were counted; in the same way that of a native loop. So a merge needs nothing but two numbers, and goes through
 * both stacks once: a loop comes after all functions of its run and of those before.
 */
#include "record/join.h"

struct joining {
	const struct join_native *native;
	const struct shadow_stack *shadow;
	struct join_items *items;
	uint32_t nr_entries; /* in all of the shadow stack */
	uint32_t nr_loops;   /* in the native one, as far as it is there */
	uint32_t next;	     /* frame of the shadow stack */
	uint32_t nr_passed;  /* marks before next */
};

static uint32_t entries_of(const struct shadow_frame *frame)
{
	return frame->entries & ~SHADOW_PLACED;
}

/* The index at which frames were left out; shadow->nr: none were. */
static uint32_t elided_at(const struct shadow_stack *shadow)
{
	return shadow->nr_elided ? SHADOW_MAX_FRAMES / 2 : shadow->nr;
}

static void push(struct joining *joining, enum join_kind kind, uint32_t i)
{
	vec_push(joining->items, (struct join_item){kind, i});
}

static void push_shadow(struct joining *joining)
{
	if (joining->next == elided_at(joining->shadow)) {
		push(joining, JOIN_ELIDED, 0);
		joining->nr_passed += joining->shadow->nr_elided_entries;
	}
	joining->nr_passed += entries_of(&joining->shadow->frames[joining->next]);
	push(joining, JOIN_SHADOW, joining->next++);
}

/* The functions of all runs up to this one. */
static void push_runs(struct joining *joining, int64_t run)
{
	while (joining->next < joining->shadow->nr) {
		bool is_behind = joining->next == elided_at(joining->shadow);
		uint32_t at =
			joining->nr_passed + (is_behind ? joining->shadow->nr_elided_entries : 0);

		if ((int64_t)at > run)
			break;
		push_shadow(joining);
	}
}

static void count(struct joining *joining)
{
	joining->nr_entries = joining->shadow->nr_elided_entries;
	for (uint32_t i = 0; i < joining->shadow->nr; i++)
		joining->nr_entries += entries_of(&joining->shadow->frames[i]);
	for (uint32_t i = 0; i < joining->native->nr; i++)
		joining->nr_loops += joining->native->is_loop[i];
}

/* The run that the nr-th loop, counted from the leaf, belongs to; -1: none yet. */
static int64_t run_of(const struct joining *joining, uint32_t nr, bool is_root_side)
{
	bool is_counted = joining->native->is_whole &&
			  joining->native->elided == joining->native->nr;

	if (!is_counted && !is_root_side)
		return nr;
	return (int64_t)nr + joining->nr_entries - joining->nr_loops;
}

/* Is the function at the leaf on the stack, but its loop not called yet? */
static bool lacks_loop(const struct joining *joining)
{
	const struct join_native *native = joining->native;

	return native->may_lack_loop && native->is_whole && native->elided == native->nr &&
	       joining->nr_loops + 1 == joining->nr_entries;
}

static void merge(struct joining *joining)
{
	const struct join_native *native = joining->native;
	uint32_t nr = 0;

	if (lacks_loop(joining))
		push_runs(joining, 0);
	for (uint32_t i = 0; i < native->nr; i++) {
		if (native->is_loop[i])
			push_runs(joining,
				  run_of(joining, nr++, native->is_whole && i > native->elided));
		push(joining, JOIN_NATIVE, i);
	}
	while (joining->next < joining->shadow->nr)
		push_shadow(joining);
}

static bool can_be_paired(const struct joining *joining)
{
	const struct join_native *native = joining->native;

	if (joining->shadow->end != SHADOW_END_ROOT)
		return false;
	if (!native->is_whole || native->elided < native->nr)
		return joining->nr_loops <= joining->nr_entries + 1;
	return joining->nr_loops == joining->nr_entries ||
	       joining->nr_loops == joining->nr_entries + 1 || lacks_loop(joining);
}

static bool is_placed(const struct shadow_stack *shadow)
{
	return shadow->nr && shadow->frames[0].entries & SHADOW_PLACED;
}

/* Adds the frame that ends the functions read: there was no time for more. */
static void push_end(struct joining *joining)
{
	if (joining->next == joining->shadow->nr && joining->shadow->end != SHADOW_END_ROOT)
		push(joining, JOIN_UNMATCHED, 0);
}

/* Each function behind its native frame; those behind none at the end. */
static void merge_placed(struct joining *joining)
{
	const struct shadow_stack *shadow = joining->shadow;

	for (uint32_t i = 0; i < joining->native->nr; i++) {
		push(joining, JOIN_NATIVE, i);
		while (joining->next < shadow->nr && shadow->frames[joining->next].place <= i) {
			push_shadow(joining);
			push_end(joining);
		}
	}
	while (joining->next < shadow->nr) {
		push_shadow(joining);
		push_end(joining);
	}
}

bool join_stacks(const struct join_native *native, const struct shadow_stack *shadow,
		 struct join_items *items)
{
	struct joining joining = {.native = native, .shadow = shadow, .items = items};
	uint32_t i = 0;

	if (is_placed(shadow)) {
		merge_placed(&joining);
		return shadow->end == SHADOW_END_ROOT;
	}
	count(&joining);
	if (can_be_paired(&joining)) {
		merge(&joining);
		return true;
	}
	while (joining.next < shadow->nr)
		push_shadow(&joining);
	/* What native code runs at the leaf is known, if nothing else is. */
	for (; !shadow->nr && i < native->nr && !native->is_loop[i]; i++)
		push(&joining, JOIN_NATIVE, i);
	push(&joining, JOIN_UNMATCHED, 0);
	for (; i < native->nr; i++)
		push(&joining, JOIN_NATIVE, i);
	return false;
}
