/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a run does what it does again and again: drains, ends of windows, deltas; and when it ends. Arithmetic
 * on CLOCK_MONOTONIC nanoseconds: nothing here waits or looks at a clock.
 *
 * Drains are frequent while there is code that BPF does not know, then rarer and rarer, once a second at
 * last. They are never closer together than a hundredth of a second, and what is due ends every wait.
 */
#ifndef CPROF_RECORD_SCHEDULE_H
#define CPROF_RECORD_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

/* To be read: started_ns, drained_ns, end_ns. */
struct schedule {
	const struct options *options;
	uint64_t started_ns;
	uint64_t drained_ns;		/* when the last drain began */
	uint64_t interval_ns;		/* from there to the next, if BPF does not ask for it */
	uint64_t snapshot_ns, delta_ns; /* when the next is due; UINT64_MAX: never */
	uint64_t end_ns;		/* when the time is up; UINT64_MAX: never */
};

/* Sampling begins. options is borrowed: how long, and what at which intervals. */
void schedule_start(struct schedule *schedule, const struct options *options, uint64_t now_ns);

/* A drain that began at began_ns is done. is_new: it met code that was not known. */
void schedule_drained(struct schedule *schedule, uint64_t began_ns, bool is_new);
/* When the next drain may begin, if BPF asks for it, and when it does in any case. */
uint64_t schedule_rest_ns(const struct schedule *schedule);
uint64_t schedule_wake_ns(const struct schedule *schedule);

/* Files that are due in mid-run. */
struct due {
	bool snapshot, delta;
};

/*
 * What is due by now_ns, and from then on is not until its next time. asked: everything is, whatever the
 * time. What is due with the end is the end's, however late it is.
 */
struct due schedule_take(struct schedule *schedule, uint64_t now_ns, bool asked);

#endif
