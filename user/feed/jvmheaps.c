// SPDX-License-Identifier: BSD-2-Clause
/*
 * A heap keeps its place among those of the looks, so that only one that was packed anew is copied to BPF again.
 */
#include "feed/jvmheaps.h"

static void retire(struct jvmheaps *heaps, struct placed_heap *heap)
{
	if (heap->id != TABLE_NO_CFI)
		vec_push(&heaps->retired, heap->id);
	unwind_table_free(heap->table);
}

void jvmheaps_settle(struct jvmheaps *heaps, struct tablecache *tablecache)
{
	vec_for_each(&heaps->retired, table)
		tablecache_remove(tablecache, *table);
	heaps->retired.nr = 0;
}

void jvmheaps_release(struct jvmheaps *heaps, struct tablecache *tablecache)
{
	vec_for_each(&heaps->placed, heap)
		retire(heaps, heap);
	jvmheaps_settle(heaps, tablecache);
	vec_release(&heaps->placed);
	vec_release(&heaps->retired);
}

bool jvmheaps_place(struct jvmheaps *heaps, struct tablecache *tablecache, size_t i,
		    struct reply_heap *heap)
{
	struct placed_heap *placed;

	if (!heap->generation ||
	    (i < heaps->placed.nr && heaps->placed.at[i].generation == heap->generation))
		return false;
	while (i >= heaps->placed.nr)
		vec_push(&heaps->placed, (struct placed_heap){.id = TABLE_NO_CFI});
	placed = &heaps->placed.at[i];
	retire(heaps, placed);
	*placed = (struct placed_heap){
		.start = heap->start,
		.limit = heap->limit,
		.reserved = heap->reserved,
		.generation = heap->generation,
		.id = heap->table ? tablecache_insert(tablecache, heap->table) : TABLE_NO_CFI,
	};
	if (placed->id != TABLE_NO_CFI) {
		placed->table = heap->table;
		heap->table = NULL;
	}
	return true;
}

void jvmheaps_generations(const struct jvmheaps *heaps, uint64_t generations[MESSAGE_MAX_HEAPS])
{
	for (size_t i = 0; i < heaps->placed.nr; i++)
		generations[i] = heaps->placed.at[i].generation;
}

bool jvmheaps_find(const struct jvmheaps *heaps, uint64_t ip, struct unwind_rule *rule)
{
	vec_for_each(&heaps->placed, heap)
		if (heap->table && ip - heap->start < heap->limit - heap->start)
			return unwind_table_find(heap->table, ip, rule) &&
			       rule->kind != UNWIND_UNKNOWN;
	return false;
}

/* The part of [start, limit) that begins at start and lies within or without [from, to). */
static bool is_within(uint64_t start, uint64_t from, uint64_t to, uint64_t *limit)
{
	if (start >= from && start < to) {
		if (to < *limit)
			*limit = to;
		return true;
	}
	if (start < from && from < *limit)
		*limit = from;
	return false;
}

void jvmheaps_describe(const struct jvmheaps *heaps, struct unwind_vma *vma)
{
	vec_for_each(&heaps->placed, heap) {
		if (is_within(vma->start, heap->start, heap->limit, &vma->limit))
			vma->table = heap->id;
		else if (is_within(vma->start, heap->limit, heap->reserved, &vma->limit))
			vma->table = TABLE_UNBUILT;
	}
}
