/* SPDX-License-Identifier: BSD-2-Clause */
/* What heap profiling costs its targets, in words. */
#ifndef CPROF_RECORD_OVERHEAD_H
#define CPROF_RECORD_OVERHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/session.h"

/* The share of the targets' CPU time, in percent. 0: not known, or too little time to say. */
double overhead_percent(const struct overhead *overhead);

/* For the status line: "  12 % of the target's CPU time"; "" if it is not known. Returns out. */
char *overhead_status(const struct overhead *overhead, bool all, char *out, size_t out_bytes);

/* For the closing lines: says it in one, if there is something to say. */
void overhead_say(const struct overhead *overhead, bool all);

/* Of what is expected (session_look()): warns if it is much, and says what costs less. */
void overhead_warn(const struct overhead *expected, bool allocs_only);

/* --max-overhead: zeroed but for percent. */
struct overhead_limit {
	double percent;	       /* 100: there is none */
	struct overhead begin; /* of the piece of time that is judged next */
	double reached;	       /* percent of one that was over the limit; 0: none was */
};

/* The limit is held against each half second of the targets' CPU time. True: it is reached. now: of the run so far. */
bool overhead_limit_look(struct overhead_limit *limit, const struct overhead *now);

#endif
