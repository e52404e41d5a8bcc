/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides whether the blocks of one stack look like a leak. Pure arithmetic on what was counted.
 *
 * A stack is suspected if it has blocks older than a given age, and what it has in use grows: steadily, significantly, and
 * still at the end. Not so an allocation at the start (it does not grow), a bounded cache (it does not grow once it is
 * full), a buffer that was replaced by a larger one (it grew once).
 */
#ifndef CPROF_RECORD_LEAKTEST_H
#define CPROF_RECORD_LEAKTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAK_LEAST_OLD	  5  /* sampled blocks: of fewer nothing can be said */
#define LEAK_LEAST_PIECES 16 /* of time: less is too short to be judged */

/* Rising suspicion. */
enum leak_kind {
	LEAK_NONE,
	LEAK_GROWTH, /* grows; its blocks are kept, or freed when they are old: a cache without bound does the same */
	LEAK_EXCEPTION /* grows by a few blocks of many, while all others are freed, and sooner than these */
};

struct leak_stack {
	const double *
		growth_bytes; /* of what is in use, in equal pieces of time: all that its process ran */
	size_t nr_pieces;
	double piece_s;
	uint64_t nr_taken, nr_freed; /* sampled blocks */
	uint64_t nr_old;	     /* of those alive: older than age_ns */
	uint64_t oldest_freed_ns;    /* the greatest age at which one was freed */
	uint64_t age_ns;
	bool is_over; /* the process has ended: what it built up until then is no leak */
};

struct leak_verdict {
	enum leak_kind kind;
	double slope, error; /* bytes a second over the second half, and the standard error */
};

/* Is there enough of it to be judged? */
bool leak_is_testable(const struct leak_stack *stack);

/* nr_tested: stacks of the run that are testable, this one included. slope and error mean something only where a kind was found. */
struct leak_verdict leak_judge(const struct leak_stack *stack, uint64_t nr_tested);

#endif
