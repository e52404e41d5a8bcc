/* SPDX-License-Identifier: BSD-2-Clause */
/* What heap profiling costs its targets, in words. */
#ifndef CPROF_RECORD_OVERHEAD_H
#define CPROF_RECORD_OVERHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "collect/session.h"

/* The share of the targets' CPU time, in percent. 0: not known, or too little time to say. */
double overhead_percent(const struct overhead *overhead);

/* The text for the status line, "  12 % of the target's CPU time"; "" if it is not known. Returns out. */
char *overhead_status(const struct overhead *overhead, bool all, char *out, size_t out_bytes);

/* Prints the closing line, if there is something to report. */
void overhead_say(const struct overhead *overhead, bool all);

/* Warns if the overhead that session_look() expects, after look_ns, is high, and says what costs less. */
void overhead_warn(const struct overhead *expected, uint64_t look_ns, bool allocs_only);

#define OVERHEAD_LOOK_EVERY_NS (NSEC_PER_SEC / 10)

/* --max-overhead: zeroed but for percent, and nr_cpus. */
struct overhead_limit {
	double percent;	  /* 100: there is none */
	uint32_t nr_cpus; /* with -a: it is a share of their time; 0: of the targets' CPU time */
	struct overhead begin; /* of the piece of time that is judged next */
	uint64_t begin_ns;     /* when that piece began; to be set with nr_cpus */
	uint64_t look_ns;      /* before it overhead_limit_is_due() is false */
	int nr_over;	       /* pieces in a row that were over the limit */
	double reached;	       /* percent of the one that decided; 0: none did */
};

/* Whether it is time to look again: a tally costs too much to be made at each drain. */
bool overhead_limit_is_due(struct overhead_limit *limit, uint64_t now_ns);

/*
 * The limit is held against each half second of the targets' CPU time. With nr_cpus it is held against what these can do, in
 * pieces of two seconds, three of which in a row must be over it: on an idle machine the CPU time that is used is next to
 * nothing, and a share of it says nothing. True: it is reached. now: of the run so far.
 */
bool overhead_limit_look(struct overhead_limit *limit, const struct overhead *now, uint64_t now_ns);

#endif
