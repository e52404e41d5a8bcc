// SPDX-License-Identifier: BSD-2-Clause
/*
 * A table of positions, with linear probing, at most half full. The pairs themselves stand once, densely, in
 * the order of their positions: 8 bytes each, so that the pairs of one stack share cache lines.
 *
 * Alternative rejected: the generic base/hash.h, whose comparison is a call through a pointer. A million
 * samples of fifty frames are fifty million look-ups; here each is inlined into its loop.
 */
#include "base/pairtable.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"

static void place(struct pairtable *table, struct pairtable_slot slot)
{
	size_t mask = table->nr_slots - 1, i = slot.tag & mask;

	while (table->slots[i].next)
		i = (i + 1) & mask;
	table->slots[i] = slot;
}

static void grow(struct pairtable *table)
{
	struct pairtable_slot *old scoped(freep) = table->slots;
	size_t nr_old = table->nr_slots;

	table->nr_slots = nr_old ? 2 * nr_old : 64;
	table->secret = hash_key();
	table->slots = xcalloc(table->nr_slots, sizeof(*table->slots));
	for (size_t i = 0; i < nr_old; i++)
		if (old[i].next)
			place(table, old[i]);
}

uint32_t pairtable_append(struct pairtable *table, uint32_t first, uint32_t second)
{
	if (4 * (table->nr + 1) > 3 * table->nr_slots)
		grow(table);
	vec_push(table, (struct pair){first, second});
	place(table, (struct pairtable_slot){.tag = pairtable_code(table, first, second),
					     .next = table->nr});
	return table->nr - 1;
}

void pairtable_seal(struct pairtable *table)
{
	free(table->slots);
	table->slots = NULL;
	table->nr_slots = 0;
}

void pairtable_release(struct pairtable *table)
{
	vec_release(table);
	pairtable_seal(table);
}
