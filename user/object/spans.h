/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns nested and overlapping address ranges into disjoint spans, so that finding the owner of an address is
 * one binary search.
 *
 * At any address the range with the greatest start wins; of equal starts, the last that was added.
 *
 *	spans_add()	for each range, by ascending start
 *	spans_finish()	once
 *	spans_find()	from then on
 *
 * n ranges give at most 2 n + 1 spans, 12 bytes each, in time linear in n, however hostile they are. Owners
 * are the caller's numbers.
 */
#ifndef CPROF_OBJECT_SPANS_H
#define CPROF_OBJECT_SPANS_H

#include <stdint.h>

#include "base/vec.h"

#define SPANS_NONE UINT32_MAX /* no owner */

/* Zeroed: empty, nothing added yet. */
struct spans {
	vec_of(uint64_t) starts; /* owners[i] is of [starts[i], starts[i + 1]) */
	vec_of(uint32_t) owners;
	vec_of(struct open_span {
		uint64_t limit;
		uint32_t owner;
	}) open; /* while building: the ranges around the last start, the innermost last */
};

/*
 * Closes the ranges that end at addr or before. addr must not be less than the last start added. Returns
 * where the innermost of the ranges around addr ends; UINT64_MAX: there is none.
 */
uint64_t spans_advance(struct spans *spans, uint64_t addr);

/* Adds [start, limit), not empty, for owner. start must not be less than the last one's. */
void spans_add(struct spans *spans, uint64_t start, uint64_t limit, uint32_t owner);
/* Call after the last range: closes all and shrinks the arrays. */
void spans_finish(struct spans *spans);

/* The owner of addr, or SPANS_NONE. */
uint32_t spans_find(const struct spans *spans, uint64_t addr);
void spans_release(struct spans *spans);

#endif
