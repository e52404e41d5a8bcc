// SPDX-License-Identifier: BSD-2-Clause
/*
 * First fit: the list of free ranges is searched from its start, and only if none is large enough new places are
 * used. A range that becomes free is joined to a free one that ends where it begins, never across a boundary. Ranges
 * of one size come and go, so most fit exactly or can be joined again, and the list stays short without an index.
 */
#include "collect/rangealloc.h"

#include <errno.h>
#include <stdbool.h>

static bool take_free(struct rangealloc *alloc, uint32_t nr, uint32_t *at)
{
	for (size_t i = 0; i < alloc->free.nr; i++) {
		struct range *range = &alloc->free.at[i];

		if (range->nr < nr)
			continue;
		*at = range->at;
		range->at += nr;
		range->nr -= nr;
		if (!range->nr)
			*range = alloc->free.at[--alloc->free.nr];
		return true;
	}
	return false;
}

int rangealloc_take(struct rangealloc *alloc, uint32_t nr, uint32_t *at)
{
	uint32_t left = alloc->boundary ? alloc->boundary - alloc->next % alloc->boundary : nr;

	if (!take_free(alloc, nr, at)) {
		if (left < nr) { /* a smaller range may use the rest before the boundary */
			vec_push(&alloc->free, (struct range){alloc->next, left});
			alloc->next += left;
		}
		if (alloc->limit - alloc->next < nr)
			return -ENOSPC;
		*at = alloc->next;
		alloc->next += nr;
	}
	alloc->nr_used += nr;
	return 0;
}

void rangealloc_free(struct rangealloc *alloc, uint32_t at, uint32_t nr)
{
	if (!nr)
		return;
	vec_push(&alloc->quarantine, (struct range){at, nr});
	alloc->nr_used -= nr;
}

/* Joins range to the free range that ends where it begins, if there is one. */
static void add_free(struct rangealloc *alloc, struct range range)
{
	vec_for_each(&alloc->free, other) {
		bool crosses = alloc->boundary && range.at % alloc->boundary == 0;

		if (other->at + other->nr == range.at && !crosses) {
			other->nr += range.nr;
			return;
		}
	}
	vec_push(&alloc->free, range);
}

void rangealloc_settle(struct rangealloc *alloc)
{
	struct ranges quarantined = alloc->quarantined;

	vec_for_each(&quarantined, range)
		add_free(alloc, *range);
	quarantined.nr = 0;
	alloc->quarantined = alloc->quarantine;
	alloc->quarantine = quarantined;
}

void rangealloc_release(struct rangealloc *alloc)
{
	vec_release(&alloc->free);
	vec_release(&alloc->quarantine);
	vec_release(&alloc->quarantined);
}
