/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the sampled blocks of one record came and went over a run, in TIMELINE_BINS pieces of time at most.
 *
 * All timelines of a run share one clock: its pieces are equally long, and twice as long whenever the run has outgrown them.
 * Then two neighbours become one, in each timeline when it is looked at next.
 */
#ifndef CPROF_RECORD_TIMELINE_H
#define CPROF_RECORD_TIMELINE_H

#include <stdint.h>

#define TIMELINE_BINS	  64
#define TIMELINE_FIRST_NS 125000000ull /* a piece, at first */

struct timeline_clock {
	uint64_t start_ns; /* CLOCK_MONOTONIC; 0: no timelines are kept */
	uint64_t bin_ns;
	uint64_t before_ns, now_ns; /* what is added came between these */
};

struct timeline {
	uint64_t bin_ns;	      /* how long its pieces are; 0: it is empty */
	uint64_t oldest_ns;	      /* birth of the oldest block of born[] */
	double net[TIMELINE_BINS];    /* blocks taken - blocks freed */
	uint32_t born[TIMELINE_BINS]; /* of the blocks alive at the end: when they were taken */
};

/* Time has come to now_ns. */
void timeline_advance(struct timeline_clock *clock, uint64_t now_ns);
/* Adds to the pieces since the clock was advanced before, evenly: when it was within them is not known. */
void timeline_add(struct timeline *timeline, const struct timeline_clock *clock, int64_t net);
/* Adds a block that is alive at the end. */
void timeline_born(struct timeline *timeline, const struct timeline_clock *clock, uint64_t born_ns);
/* Makes its pieces as long as the clock's. */
void timeline_fit(struct timeline *timeline, const struct timeline_clock *clock);

#endif
