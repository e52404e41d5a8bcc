// SPDX-License-Identifier: BSD-2-Clause
/*
 * A look-up that finds the nearest start and then gives up loses the rest of what lies around it, and
 * one that walks back from there is linear in a hostile file. So the nesting is flattened once:
 *
 *	outer	|-----------------------------|		ranges	start	owner
 *	inner		|------|				0	outer
 *	next					  |----|	8	inner
 *		0	8      15	      30  34   39	15	outer
 *								30	none
 *								34	next ...
 *
 * One pass, one stack.
 */
#include "object/ranges.h"

static void begin(struct ranges *ranges, uint64_t start, uint32_t owner)
{
	if (ranges->starts.nr && ranges->starts.at[ranges->starts.nr - 1] == start) {
		ranges->owners.at[ranges->owners.nr - 1] = owner;
		return;
	}
	vec_push(&ranges->starts, start);
	vec_push(&ranges->owners, owner);
}

static const struct open_range *innermost(const struct ranges *ranges)
{
	return ranges->open.nr ? &ranges->open.at[ranges->open.nr - 1] : NULL;
}

uint64_t ranges_advance(struct ranges *ranges, uint64_t addr)
{
	const struct open_range *top;

	while ((top = innermost(ranges)) && top->limit <= addr) {
		uint64_t limit = top->limit;

		/* Whatever ended while it was covered ends with what covered it. */
		while ((top = innermost(ranges)) && top->limit <= limit)
			ranges->open.nr--;
		begin(ranges, limit, top ? top->owner : RANGES_NONE);
	}
	return top ? top->limit : UINT64_MAX;
}

void ranges_add(struct ranges *ranges, uint64_t start, uint64_t limit, uint32_t owner)
{
	ranges_advance(ranges, start);
	begin(ranges, start, owner);
	vec_push(&ranges->open, (struct open_range){limit, owner});
}

void ranges_finish(struct ranges *ranges)
{
	ranges_advance(ranges, UINT64_MAX);
	vec_release(&ranges->open);
	vec_fit(&ranges->starts);
	vec_fit(&ranges->owners);
}

uint32_t ranges_find(const struct ranges *ranges, uint64_t addr)
{
	size_t nr = vec_partition(&ranges->starts, start, *start <= addr);

	return nr ? ranges->owners.at[nr - 1] : RANGES_NONE;
}

void ranges_release(struct ranges *ranges)
{
	vec_release(&ranges->starts);
	vec_release(&ranges->owners);
	vec_release(&ranges->open);
}
