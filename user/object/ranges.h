/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stretches of addresses that nest and overlap, flattened into ranges that do not, so that whose an
 * address is takes one binary search. At any address the stretch with the greatest start wins; of
 * equal starts the last that was added.
 *
 *	ranges_add()	for each stretch, by ascending start
 *	ranges_finish()	once
 *	ranges_find()	from then on
 *
 * n stretches give at most 2 n + 1 ranges, 12 bytes each, in time linear in n, however hostile. Owners
 * are the caller's numbers.
 */
#ifndef CPROF_OBJECT_RANGES_H
#define CPROF_OBJECT_RANGES_H

#include <stdint.h>

#include "base/vec.h"

#define RANGES_NONE UINT32_MAX /* no owner */

/* Zeroed: empty, nothing added yet. */
struct ranges {
	vec_of(uint64_t) starts; /* owners[i] is of [starts[i], starts[i + 1]) */
	vec_of(uint32_t) owners;
	vec_of(struct open_range {
		uint64_t limit;
		uint32_t owner;
	}) open; /* while they are made: the stretches that lie around, the innermost last */
};

/*
 * Ends what ends at addr or before, which is at least the last start that was added. Returns where the
 * innermost of the stretches around addr ends, UINT64_MAX: there is none.
 */
uint64_t ranges_advance(struct ranges *ranges, uint64_t addr);

/* [start, limit), not empty, is owner's. start: the last one's or more. */
void ranges_add(struct ranges *ranges, uint64_t start, uint64_t limit, uint32_t owner);
/* All were added; gives back what memory is not needed any more. */
void ranges_finish(struct ranges *ranges);

/* The owner of addr, or RANGES_NONE. */
uint32_t ranges_find(const struct ranges *ranges, uint64_t addr);
void ranges_release(struct ranges *ranges);

#endif
