// SPDX-License-Identifier: BSD-2-Clause
#include "collect/space.h"

#include <errno.h>
#include <stdbool.h>

static bool take_free(struct space *space, uint32_t nr, uint32_t *at)
{
	for (size_t i = 0; i < space->free.nr; i++) {
		struct range *range = &space->free.at[i];

		if (range->nr < nr)
			continue;
		*at = range->at;
		range->at += nr;
		range->nr -= nr;
		if (!range->nr)
			*range = space->free.at[--space->free.nr];
		return true;
	}
	return false;
}

int space_take(struct space *space, uint32_t nr, uint32_t *at)
{
	uint32_t left = space->boundary ? space->boundary - space->next % space->boundary : nr;

	if (!take_free(space, nr, at)) {
		if (left < nr) { /* what is left before the boundary is for a smaller one */
			vec_push(&space->free, (struct range){space->next, left});
			space->next += left;
		}
		if (space->limit - space->next < nr)
			return -ENOSPC;
		*at = space->next;
		space->next += nr;
	}
	space->nr_used += nr;
	return 0;
}

void space_give_back(struct space *space, uint32_t at, uint32_t nr)
{
	if (!nr)
		return;
	vec_push(&space->resting, (struct range){at, nr});
	space->nr_used -= nr;
}

/* Joins a range to a free neighbour if it has one: runs of one size come and go, so most do. */
static void add_free(struct space *space, struct range range)
{
	vec_for_each(&space->free, other) {
		bool crosses = space->boundary && range.at % space->boundary == 0;

		if (other->at + other->nr == range.at && !crosses) {
			other->nr += range.nr;
			return;
		}
	}
	vec_push(&space->free, range);
}

void space_settle(struct space *space)
{
	struct ranges rested = space->rested;

	vec_for_each(&rested, range)
		add_free(space, *range);
	rested.nr = 0;
	space->rested = space->resting;
	space->resting = rested;
}

void space_release(struct space *space)
{
	vec_release(&space->free);
	vec_release(&space->resting);
	vec_release(&space->rested);
}
