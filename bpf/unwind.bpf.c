// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A stack walk: look up the rule for the ip, compute the caller's registers, write its ip, repeat.
 * Compilers describe every function of a binary that way for exceptions (.eh_frame); user space makes
 * tables from that description (user/unwind/ehframe.h). The arithmetic of a step is in rulestep_abi.h, which user space
 * walks with, too.
 *
 * Where there is no description, gap.bpf.c makes the step. Values from the target's memory are not trusted:
 * they are only looked up.
 *
 * A step by an inline rule, as nearly all are, is made without a call. The other kinds of step, and a few steps
 * together, are global functions (not static) with scalar arguments: the verifier then checks each once, by
 * itself, and not again for each turn of the loop and each way to get there.
 */
#include "unwind.bpf.h"

#include "lookup.bpf.h"
#include "stackmem.bpf.h"
#include "step.bpf.h"
#include "tables.bpf.h"
#include "uprobes.bpf.h"

/*
 * How many steps one function makes: calls cost time (lookup.bpf.h), and each of these steps is verified
 * anew. Of 16 a walk is hardly faster, and takes twice as many verified instructions.
 */
#define STEPS_A_CALL 4
_Static_assert(ABI_FRAMES_AT_ONCE % STEPS_A_CALL == 0, "calls make whole turns");

__noinline int unwind_step_extended(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);
	struct target target = {scratch, slot};
	struct caller caller = {};
	struct unwind_rule rule;
	u64 method;

	if (!scratch)
		return 1;
	tables_extended(&scratch->walk.at, &rule);
	method = rulestep_method(&target, &scratch->walk, &rule);
	if (method)
		unwind_put(scratch, scratch->walk.nr - 1, method);
	if (rule.kind == UNWIND_SIGNAL && !scratch->walk.ip_exact)
		unwind_mark(scratch, scratch->walk.nr - 1, ABI_IP_EXACT);
	return go_to_caller(scratch, &caller,
			    end_of_status(rulestep(&target, &scratch->walk, &rule, &caller)));
}

static __always_inline int step_by_inline(struct scratch *scratch, u32 slot,
					  const struct rule_at *at)
{
	struct target target = {scratch, slot};
	struct caller caller = {};

	return go_to_caller(scratch, &caller,
			    end_of_status(rulestep_inline(&target, &scratch->walk, at->packed,
							  at->pc_delta, &caller)));
}

/* A step of the rarer kinds: they are functions of their own. */
static __always_inline int step_by_other(struct walk *walk, u32 slot, const struct rule_at *at)
{
	walk->at = *at;
	return at->packed == (UNWIND_RULE_EXTENDED | UNWIND_EXTENDED_GAP)
		       ? unwind_step_gap(slot)
		       : unwind_step_extended(slot);
}

/* STEPS_A_CALL frames. 0: there is one more, all ips are written; else the walk is over. */
__noinline int unwind_few(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);
	u32 zero = 0;
	struct table_space *all_tables = bpf_map_lookup_elem(&tables, &zero);
	struct vma_space *all_vmas = bpf_map_lookup_elem(&vmas, &zero);

	if (!scratch || !all_tables || !all_vmas)
		return 1; /* never: for the verifier */
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < STEPS_A_CALL; i++) {
		struct rule_at at = lookup_rule(&scratch->walk, all_vmas, all_tables);
		int over;

		if (at.packed & UNWIND_RULE_EXTENDED)
			over = step_by_other(&scratch->walk, slot, &at);
		else
			over = step_by_inline(scratch, slot, &at);
		if (over)
			return 1;
	}
	return 0;
}

/* The walk has taken its time: how long a stack takes is the target's choice. */
static __always_inline bool is_late(struct walk *walk)
{
	u64 now_ns = bpf_ktime_get_ns();

	if (!walk->deadline_ns)
		walk->deadline_ns = now_ns + config.walk_ns;
	return now_ns > walk->deadline_ns;
}

/* Many steps: for the verifier a loop of loops, each short, and gone through once. Between them looks at the clock. */
__noinline int unwind_steps(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);

	for (int i = 0; i < ABI_FRAMES_AT_ONCE / STEPS_A_CALL; i++)
		if (unwind_few(slot))
			return 1;
	if (!scratch || !is_late(&scratch->walk))
		return 0;
	scratch->walk.end = ABI_END_TOO_DEEP;
	return 1;
}

/* To the root, or as far as time allows. */
static __always_inline void walk_on(u32 slot, struct walk *walk)
{
	walk->deadline_ns = 0;
	for (int i = 0; i < ABI_MAX_WALKED_TURNS; i++)
		if (unwind_steps(slot))
			return;
	walk->end = ABI_END_TOO_DEEP;
}

/* The same as the three copies in elide(), word by word. The barrier keeps clang from making a call of memcpy. */
static __always_inline void turn_ring(u64 *window, u64 *ring, u32 oldest)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_RING_FRAMES; i++) {
		window[i] = ring[(oldest + i) & (ABI_RING_FRAMES - 1)];
		barrier_var(i);
	}
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_RING_FRAMES; i++) {
		ring[i] = window[i];
		barrier_var(i);
	}
}

/*
 * Puts the frames that went round into their order, with the mark in place of the oldest. (They are
 * copied twice, one behind the other, so that the whole is one piece of it wherever it begins.) Of a
 * walk without an end only the leaf's side means the same in the next sample.
 */
static __always_inline void elide(struct scratch *scratch)
{
	u64 *ring = &scratch->record.ips[(scratch->record.nr_kernel & ABI_MAX_KERNEL_FRAMES) +
					 ABI_LEAF_FRAMES];
	const u32 len_bytes = ABI_RING_FRAMES * sizeof(*ring);
	struct walk *walk = &scratch->walk;
	u32 oldest = walk->nr & (ABI_RING_FRAMES - 1);

	walk->nr_walked = walk->nr;
	if (walk->end == ABI_END_TOO_DEEP)
		walk->nr = ABI_LEAF_FRAMES;
	if (walk->nr <= ABI_MAX_USER_FRAMES)
		return;
	walk->nr = ABI_MAX_USER_FRAMES;
	if (config.no_kernel_reads) {
		turn_ring(scratch->window, ring, oldest);
	} else {
		bpf_probe_read_kernel(scratch->window, len_bytes, ring);
		bpf_probe_read_kernel(scratch->window + ABI_RING_FRAMES, len_bytes, ring);
		bpf_probe_read_kernel(ring, len_bytes, scratch->window + oldest);
	}
	ring[0] = ABI_IP_ELIDED;
}

_Static_assert(2 * ABI_RING_FRAMES <= WINDOW_WORDS, "the ring fits twice into the window");
_Static_assert(!(ABI_RING_FRAMES & (ABI_RING_FRAMES - 1)) && ABI_LEAF_FRAMES == ABI_RING_FRAMES &&
		       !(ABI_MAX_KERNEL_FRAMES & (ABI_MAX_KERNEL_FRAMES + 1)),
	       "indices are masked");

__hidden void unwind_user(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);

	if (!scratch)
		return;
	scratch->walk.slot = slot;
	unwind_push(scratch, scratch->walk.ip);
	if (tables_enter(&scratch->walk, scratch->record.tgid)) {
		walk_on(slot, &scratch->walk);
	} else {
		uprobes_leave(slot);
		scratch->walk.end = ABI_END_UNKNOWN_CODE;
	}
	scratch->record.unloads = stackmem_counter(scratch->walk.unloads_at);
	elide(scratch);
}
