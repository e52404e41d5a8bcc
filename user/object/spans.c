// SPDX-License-Identifier: BSD-2-Clause
/*
 * A look-up that finds the nearest start and then gives up loses the rest of what lies around it, and
 * one that walks back from there is linear in a hostile file. So the nesting is flattened once:
 *
 *	outer	|-----------------------------|		spans	start	owner
 *	inner		|------|				0	outer
 *	next					  |----|	8	inner
 *		0	8      15	      30  34   39	15	outer
 *								30	none
 *								34	next ...
 *
 * One pass, one stack.
 */
#include "object/spans.h"

static void begin(struct spans *spans, uint64_t start, uint32_t owner)
{
	if (spans->starts.nr && spans->starts.at[spans->starts.nr - 1] == start) {
		spans->owners.at[spans->owners.nr - 1] = owner;
		return;
	}
	vec_push(&spans->starts, start);
	vec_push(&spans->owners, owner);
}

static const struct open_span *innermost(const struct spans *spans)
{
	return spans->open.nr ? &spans->open.at[spans->open.nr - 1] : NULL;
}

uint64_t spans_advance(struct spans *spans, uint64_t addr)
{
	const struct open_span *top;

	while ((top = innermost(spans)) && top->limit <= addr) {
		uint64_t limit = top->limit;

		/* Whatever ended while it was covered ends with what covered it. */
		while ((top = innermost(spans)) && top->limit <= limit)
			spans->open.nr--;
		begin(spans, limit, top ? top->owner : SPANS_NONE);
	}
	return top ? top->limit : UINT64_MAX;
}

void spans_add(struct spans *spans, uint64_t start, uint64_t limit, uint32_t owner)
{
	spans_advance(spans, start);
	begin(spans, start, owner);
	vec_push(&spans->open, (struct open_span){limit, owner});
}

void spans_finish(struct spans *spans)
{
	spans_advance(spans, UINT64_MAX);
	vec_release(&spans->open);
	vec_fit(&spans->starts);
	vec_fit(&spans->owners);
}

uint32_t spans_find(const struct spans *spans, uint64_t addr)
{
	size_t nr = vec_partition(&spans->starts, start, *start <= addr);

	return nr ? spans->owners.at[nr - 1] : SPANS_NONE;
}

void spans_release(struct spans *spans)
{
	vec_release(&spans->starts);
	vec_release(&spans->owners);
	vec_release(&spans->open);
}
