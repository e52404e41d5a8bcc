/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time limits for the analysis of the targets' code (unwind tables, symbols), which can be large:
 *
 *	before sampling		WORKBUDGET_START_NS; the rest is analyzed when a sample needs it
 *	while sampling		no limit; the ring is drained meanwhile
 *	after the end		WORKBUDGET_END_NS; what is unknown then stays so, and is counted
 *
 * The limit is CPU time of this process, so that a busy machine gets as much work done; three times as much
 * wall-clock time ends the work too. Code that does such work checks workbudget_is_over() between its pieces,
 * and often.
 */
#ifndef CPROF_BASE_WORKBUDGET_H
#define CPROF_BASE_WORKBUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define WORKBUDGET_START_NS 500000000ull
#define WORKBUDGET_END_NS   2000000000ull

/* Zeroed: no limit. */
struct workbudget {
	bool only_needed; /* analyze only what a sample needs, nothing ahead of time */
	/* Called by each workbudget_is_over(), so that the end of the run is noticed. May be NULL. */
	void (*look)(void *ctx);
	void *ctx;
	/* CPU time that other processes spend on the work; counts as this one's. NULL: there are none. */
	uint64_t (*others_cpu_ns)(const void *ctx);
	const void *others;
	/* Private. */
	bool (*hurries)(void);
	uint64_t work_until_ns, until_ns; /* 0: no limit */
};

/* Allows work_ns of CPU time from now on; the budget is over as soon as hurries() returns true. */
void workbudget_limit(struct workbudget *budget, uint64_t work_ns, bool (*hurries)(void));
/* The budget, which has a limit, is over at this moment of CLOCK_MONOTONIC at the latest. */
void workbudget_end_at(struct workbudget *budget, uint64_t until_ns);
/* Removes the limit. */
void workbudget_unlimit(struct workbudget *budget);
/* Whether to stop. Calls look() and hurries(). */
bool workbudget_is_over(struct workbudget *budget);

#endif
