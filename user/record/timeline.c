// SPDX-License-Identifier: BSD-2-Clause
/* Counts in a few bins instead of a list of times: a run may last for weeks, and at rate 1 there are millions of blocks. */
#include "record/timeline.h"

void timeline_advance(struct timeline_clock *clock, uint64_t now_ns)
{
	if (!clock->bin_ns)
		clock->bin_ns = TIMELINE_FIRST_NS;
	while (now_ns > clock->start_ns &&
	       (now_ns - clock->start_ns) / clock->bin_ns >= TIMELINE_BINS)
		clock->bin_ns *= 2;
	clock->before_ns = clock->now_ns ? clock->now_ns : now_ns;
	clock->now_ns = now_ns;
}

static void halve(struct timeline *timeline)
{
	for (int i = 0; i < TIMELINE_BINS; i++) {
		double net = timeline->net[i];
		uint32_t born = timeline->born[i];

		timeline->net[i] = 0;
		timeline->born[i] = 0;
		timeline->net[i / 2] += net;
		timeline->born[i / 2] += born;
	}
	timeline->bin_ns *= 2;
}

void timeline_fit(struct timeline *timeline, const struct timeline_clock *clock)
{
	if (!timeline->bin_ns)
		timeline->bin_ns = clock->bin_ns;
	while (timeline->bin_ns < clock->bin_ns)
		halve(timeline);
}

/* The piece of a moment, which may be a little before the start or after now. */
static uint32_t bin_of(const struct timeline_clock *clock, uint64_t at_ns)
{
	uint64_t bin = at_ns > clock->start_ns ? (at_ns - clock->start_ns) / clock->bin_ns : 0;

	return bin < TIMELINE_BINS ? bin : TIMELINE_BINS - 1;
}

void timeline_add(struct timeline *timeline, const struct timeline_clock *clock, int64_t net)
{
	uint32_t first = bin_of(clock, clock->before_ns), last = bin_of(clock, clock->now_ns);
	double span_ns = clock->now_ns - clock->before_ns;

	timeline_fit(timeline, clock);
	for (uint32_t i = first; i <= last; i++) {
		uint64_t begin_ns = clock->start_ns + i * clock->bin_ns;
		uint64_t end_ns = i < last ? begin_ns + clock->bin_ns : clock->now_ns;

		if (i == first)
			begin_ns = clock->before_ns;
		timeline->net[i] += span_ns > 0 ? net * ((end_ns - begin_ns) / span_ns) : net;
	}
}

void timeline_born(struct timeline *timeline, const struct timeline_clock *clock, uint64_t born_ns)
{
	timeline_fit(timeline, clock);
	timeline->born[bin_of(clock, born_ns)]++;
	if (!timeline->oldest_ns || born_ns < timeline->oldest_ns)
		timeline->oldest_ns = born_ns;
}
