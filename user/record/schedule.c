// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each deadline is an absolute time, UINT64_MAX if it never comes, so the end of a wait is a minimum of a few numbers. A
 * deadline that was missed moves on by whole intervals: windows keep their grid, and a late drain does not cause a
 * burst of files.
 */
#include "record/schedule.h"

#include "base/clock.h"

/*
 * Between two drains: short while there is code that BPF does not know, then longer and longer. When
 * a sample comes to unknown code BPF asks for the next one, which comes soon: a program that runs for
 * a tenth of a second should not lack tables for a third of its time.
 */
#define LEAST_INTERVAL_NS (NSEC_PER_SEC / 100)
#define FIRST_INTERVAL_NS (NSEC_PER_SEC / 32)
#define DRAIN_INTERVAL_NS NSEC_PER_SEC
/* What grows in a short run shows by many drains (timeline.h); in a long one there are enough. */
#define LEAKS_INTERVAL_NS (NSEC_PER_SEC / 8)
#define LEAKS_SHORT_NS	  (60 * NSEC_PER_SEC)

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When something that happens each interval_ns (0: never) is due next. */
static uint64_t after(uint64_t last_ns, uint64_t interval_ns)
{
	return interval_ns ? last_ns + interval_ns : UINT64_MAX;
}

void schedule_start(struct schedule *schedule, const struct options *options, uint64_t now_ns)
{
	*schedule = (struct schedule){
		.options = options,
		.started_ns = now_ns,
		.drained_ns = now_ns - LEAST_INTERVAL_NS,
		.interval_ns = FIRST_INTERVAL_NS,
		.snapshot_ns = after(now_ns, options->interval_ns),
		.delta_ns = after(now_ns, options->delta_ns),
		.end_ns = after(now_ns, options->duration_ns),
	};
}

void schedule_drained(struct schedule *schedule, uint64_t began_ns, bool is_new)
{
	schedule->drained_ns = began_ns;
	if (is_new)
		schedule->interval_ns = FIRST_INTERVAL_NS;
	else if (schedule->interval_ns < DRAIN_INTERVAL_NS)
		schedule->interval_ns *= 2;
	if (schedule->options->views & OPTIONS_VIEW_LEAKS &&
	    began_ns < schedule->started_ns + LEAKS_SHORT_NS)
		schedule->interval_ns = earliest(schedule->interval_ns, LEAKS_INTERVAL_NS);
}

/* interval_ns after the last drain, or at the next deadline if that comes first. */
static uint64_t drain_ns(const struct schedule *schedule, uint64_t interval_ns)
{
	uint64_t due_ns =
		earliest(schedule->end_ns, earliest(schedule->snapshot_ns, schedule->delta_ns));

	return earliest(schedule->drained_ns + interval_ns, due_ns);
}

uint64_t schedule_rest_ns(const struct schedule *schedule)
{
	return drain_ns(schedule, LEAST_INTERVAL_NS);
}

uint64_t schedule_wake_ns(const struct schedule *schedule)
{
	return drain_ns(schedule, schedule->interval_ns);
}

/* Is what is due at *due_ns due by now_ns? Moves on past now_ns if so. */
static bool take(uint64_t *due_ns, uint64_t interval_ns, uint64_t now_ns)
{
	bool is_due = *due_ns <= now_ns;

	while (*due_ns <= now_ns)
		*due_ns += interval_ns;
	return is_due;
}

struct due schedule_take(struct schedule *schedule, uint64_t now_ns, bool asked)
{
	uint64_t until_ns = earliest(now_ns, schedule->end_ns - 1);
	bool snapshot = take(&schedule->snapshot_ns, schedule->options->interval_ns, until_ns);
	bool delta = take(&schedule->delta_ns, schedule->options->delta_ns, until_ns);

	return (struct due){asked || snapshot, asked || delta};
}
