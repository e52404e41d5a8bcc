/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * From an ip to its row of an unwind table. This runs once a frame, so it is here to be inlined: with
 * the mitigation of SRSO (AMD Zen 1 to 4) every return from a function is mispredicted on purpose, and
 * costs as much as a fifth of a frame's work.
 *
 * The searches have a fixed number of steps, and no branch that the verifier has to follow both ways.
 *
 * There is no fence here: what is loaded is where the next thing is loaded from, and so comes first on any CPU
 * (collect/tables.c has the writer's side).
 */
#ifndef CPROF_LOOKUP_BPF_H
#define CPROF_LOOKUP_BPF_H

#include "prelude.bpf.h"
#include "arch/arch.bpf.h"
#include "scratch.bpf.h"
#include "tables.bpf.h"

_Static_assert(UNWIND_PAGE_MAX_ROWS == 1 << 12, "steps of the search");

/* The vma that holds ip, NULL if none does. Few frames are in another one than the last: for them there is a function. */
static __always_inline struct abi_vma *lookup_vma(struct walk *walk, struct vma_space *space,
						  u64 ip)
{
	struct abi_vma *vma = &space->at[walk->last_vma & (ABI_MAX_VMAS - 1)];

	if (ip - vma->start < vma->limit - vma->start && walk->nr_vmas)
		return vma;
	if (!tables_search_vma(walk->slot, ip))
		return NULL;
	return &space->at[walk->last_vma & (ABI_MAX_VMAS - 1)];
}

/* Whether there is code at ip, as far as is known. No function: of the eight calls that the verifier allows few are left there. */
static __always_inline bool lookup_knows(struct walk *walk, u64 ip)
{
	u32 zero = 0;
	struct vma_space *space = bpf_map_lookup_elem(&vmas, &zero);

	return space && lookup_vma(walk, space, ip);
}

/* a - b, of which the verifier learns nothing for a or b. */
static __always_inline s64 lookup_distance(u64 a, u64 b)
{
	s64 distance = a - b;

	barrier_var(distance);
	return distance;
}

/* One step of the search below. */
#define SEARCH_STEP(slab, at, limit, pc, shift)                                        \
	do {                                                                           \
		u64 next_ = (at) + (1 << (shift));                                     \
		if (lookup_distance(limit, next_) > 0 &&                               \
		    lookup_distance(pc, unwind_row_pc(tables_word(slab, next_))) >= 0) \
			(at) = next_;                                                  \
		(at) &= ABI_SLAB_WORDS - 1;                                            \
		barrier_var(at);                                                       \
	} while (0)

/*
 * The last of a page's rows that is not behind pc. A page's first is at 0.
 *
 * Here branches are better: the same functions come again and again, so the CPU foresees them, and is
 * ahead of the loads, which it cannot be of arithmetic. The mask makes it cheap to verify: whichever
 * way a branch goes, what is known of `at` is the same, and of nothing else anything is learnt, so the
 * verifier follows one of the two. (Of a sum of known numbers it follows all 2^12, and of a loop that
 * clang leaves one each turn anew.)
 */
static __always_inline u32 find_row(const struct slab *slab, u32 first, u32 nr, u32 pc)
{
	u64 at = first & (ABI_SLAB_WORDS - 1), limit = at + nr;

	/* Few pages have more than 128 rows (the average is 75), and each step costs. */
	if (nr > 128) {
		SEARCH_STEP(slab, at, limit, pc, 11);
		SEARCH_STEP(slab, at, limit, pc, 10);
		SEARCH_STEP(slab, at, limit, pc, 9);
		SEARCH_STEP(slab, at, limit, pc, 8);
		SEARCH_STEP(slab, at, limit, pc, 7);
	}
	SEARCH_STEP(slab, at, limit, pc, 6);
	SEARCH_STEP(slab, at, limit, pc, 5);
	SEARCH_STEP(slab, at, limit, pc, 4);
	SEARCH_STEP(slab, at, limit, pc, 3);
	SEARCH_STEP(slab, at, limit, pc, 2);
	SEARCH_STEP(slab, at, limit, pc, 1);
	SEARCH_STEP(slab, at, limit, pc, 0);
	return tables_word(slab, at);
}

/* The rule for the walk's ip: UNWIND_RULE_EXTENDED | UNWIND_EXTENDED_GAP where the table says nothing. */
static __always_inline struct rule_at lookup_rule(struct walk *walk, struct vma_space *vmas,
						  struct table_space *tables)
{
	struct rule_at at = {ABI_TABLE_UNBUILT, UNWIND_RULE_EXTENDED | UNWIND_EXTENDED_GAP, 0, 0};
	u64 ip = walk->ip - !walk->ip_exact, offset;
	struct abi_vma *vma = lookup_vma(walk, vmas, ip);
	struct abi_table *table;
	struct slab *slab;
	u32 word, first, nr, row, pc;

	if (!vma)
		return at;
	at.table = vma->table;
	at.gap_by_fp = vma->flags & ABI_VMA_GAP_BY_FP;
	if (at.table >= ABI_MAX_TABLES)
		return at;
	table = &tables->at[at.table & (ABI_MAX_TABLES - 1)];
	offset = ip - vma->bias - table->start;
	if (offset >> ARCH_PAGE_SHIFT >= table->nr_pages)
		return at;
	word = table->pages_at + 2 * (u32)(offset >> ARCH_PAGE_SHIFT);
	slab = tables_slab(word);
	if (!slab)
		return at;
	first = tables_word(slab, word);
	nr = tables_word(slab, word + 1);
	if (first / ABI_SLAB_WORDS != word / ABI_SLAB_WORDS)
		slab = tables_slab(first);
	if (!slab)
		return at;
	pc = offset & ((1u << ARCH_PAGE_SHIFT) - 1);
	row = find_row(slab, first, nr, pc >> ARCH_PC_SHIFT);
	at.packed = unwind_row_rule(row);
	at.pc_delta = pc - (unwind_row_pc(row) << ARCH_PC_SHIFT);
	return at;
}

#endif
