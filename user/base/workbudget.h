/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long cprof may be busy with what it has to know of the targets' code, which can be very much:
 *
 *	before sampling begins		WORKBUDGET_START_NS: the rest is looked at when a sample meets it
 *	while samples come		without limit: the ring is emptied meanwhile
 *	once the time is up		WORKBUDGET_END_NS: what is not known then stays so, and is counted
 *
 * What is limited is work, in CPU time of this process, so that less is done on no busy machine; but three
 * times that on the clock ends it too. Whoever is at such work asks between its pieces, and often.
 */
#ifndef CPROF_BASE_WORKBUDGET_H
#define CPROF_BASE_WORKBUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define WORKBUDGET_START_NS 500000000ull
#define WORKBUDGET_END_NS   2000000000ull

/* Zeroed: without limit. */
struct workbudget {
	bool only_needed; /* nothing is to be learnt ahead of need any more */
	/* Called whenever it is asked: a place to notice that the time is up. May be NULL. */
	void (*look)(void *ctx);
	void *ctx;
	/* Private. */
	bool (*hurries)(void);
	uint64_t work_until_ns, until_ns; /* 0: no limit */
};

/* So much work from now on; none once hurries() says so. */
void workbudget_limit(struct workbudget *budget, uint64_t work_ns, bool (*hurries)(void));
void workbudget_unlimit(struct workbudget *budget);
bool workbudget_is_over(struct workbudget *budget);

#endif
