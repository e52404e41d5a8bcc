/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stretches of addresses that nest and overlap, flattened into spans that do not, so that whose an
 * address is takes one binary search. At any address the stretch with the greatest start wins; of
 * equal starts the last that was added.
 *
 *	spans_add()	for each stretch, by ascending start
 *	spans_finish()	once
 *	spans_find()	from then on
 *
 * n stretches give at most 2 n + 1 spans, 12 bytes each, in time linear in n, however hostile. Owners
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
	}) open; /* while they are made: the stretches that lie around, the innermost last */
};

/*
 * Ends what ends at addr or before, which is at least the last start that was added. Returns where the
 * innermost of the stretches around addr ends, UINT64_MAX: there is none.
 */
uint64_t spans_advance(struct spans *spans, uint64_t addr);

/* [start, limit), not empty, is owner's. start: the last one's or more. */
void spans_add(struct spans *spans, uint64_t start, uint64_t limit, uint32_t owner);
/* All were added; gives back what memory is not needed any more. */
void spans_finish(struct spans *spans);

/* The owner of addr, or SPANS_NONE. */
uint32_t spans_find(const struct spans *spans, uint64_t addr);
void spans_release(struct spans *spans);

#endif
