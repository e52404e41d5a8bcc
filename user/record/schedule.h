/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a run drains, writes files in mid-run, and ends: arithmetic on CLOCK_MONOTONIC nanoseconds.
 *
 * Nothing here waits or reads a clock. Drains are frequent while there is code that BPF does not know, then rarer, down to
 * one per second. They are at least 10 ms apart; every deadline ends a wait.
 */
#ifndef CPROF_RECORD_SCHEDULE_H
#define CPROF_RECORD_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

/* Others may read started_ns, drained_ns and end_ns. */
struct schedule {
	const struct options *options;
	uint64_t started_ns;
	uint64_t drained_ns;		/* when the last drain began */
	uint64_t interval_ns;		/* from there to the next, if BPF does not ask for it */
	uint64_t snapshot_ns, delta_ns; /* when the next is due; UINT64_MAX: never */
	uint64_t end_ns;		/* when the time is up; UINT64_MAX: never */
};

/* Called when sampling begins, at now_ns. options is borrowed. */
void schedule_start(struct schedule *schedule, const struct options *options, uint64_t now_ns);

/* Notes that a drain which began at began_ns is done. is_new: it met unknown code, so the next one comes soon. */
void schedule_drained(struct schedule *schedule, uint64_t began_ns, bool is_new);
/* When the next drain may begin at the earliest (if BPF asks for it), and at the latest. */
uint64_t schedule_rest_ns(const struct schedule *schedule);
uint64_t schedule_wake_ns(const struct schedule *schedule);

/* Files that are due in mid-run. */
struct due {
	bool snapshot, delta;
};

/*
 * The files that are due by now_ns; they are due again after their interval. asked: all are due. A file that would be
 * due at the end of the run is left to the end.
 */
struct due schedule_take(struct schedule *schedule, uint64_t now_ns, bool asked);

#endif
