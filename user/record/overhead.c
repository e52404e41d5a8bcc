// SPDX-License-Identifier: BSD-2-Clause
/*
 * The share is that of the time which the targets used with profiling: at 50 % they run at half of their speed. It is an
 * estimate: a cost that was measured elsewhere, times a count. So it is shown without decimals, and never as 100 %.
 */
#include "record/overhead.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#define MUCH_PERCENT 30
#define BUSY_PERCENT 90 /* of a CPU: a process that needs less with probes is no slower */

/* --max-overhead */
#define PIECE_NS	 (NSEC_PER_SEC / 2)
#define MACHINE_PIECE_NS (2 * NSEC_PER_SEC)
#define MACHINE_PIECES	 3

double overhead_percent(const struct overhead *overhead)
{
	double share;

	if (overhead->cpu_ns < OVERHEAD_LEAST_CPU_NS)
		return 0;
	share = 100.0 * (double)overhead->cost_ns / (double)overhead->cpu_ns;
	return share > 99 ? 99 : share;
}

static const char *whose(bool all)
{
	return all ? "the CPU time of all" : "the target's CPU time";
}

static void describe_share(double percent, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, percent < 1 ? "less than 1 %%" : "about %.0f %%", percent);
}

char *overhead_status(const struct overhead *overhead, bool all, char *out, size_t out_bytes)
{
	char share[32];

	describe_share(overhead_percent(overhead), share, sizeof(share));
	*out = '\0';
	if (overhead->cost_ns && overhead->cpu_ns >= OVERHEAD_LEAST_CPU_NS)
		snprintf(out, out_bytes, "  profiling takes %s of %s", share, whose(all));
	return out;
}

void overhead_say(const struct overhead *overhead, bool all)
{
	double nr = (double)overhead->nr_traps;
	char share[32], count[32];

	if (!overhead->cost_ns || !overhead->nr_traps || overhead->cpu_ns < OVERHEAD_LEAST_CPU_NS)
		return;
	describe_share(overhead_percent(overhead), share, sizeof(share));
	if (nr < 1e6)
		snprintf(count, sizeof(count), "%s", text_count(overhead->nr_traps));
	else
		snprintf(count, sizeof(count), "%.1f million", nr / 1e6);
	say("profiling took %s of %s (%s traps of %.1f us)", share, whose(all), count,
	    (double)overhead->cost_ns / nr / 1e3);
}

void overhead_warn(const struct overhead *expected, uint64_t look_ns, bool allocs_only)
{
	double percent = overhead_percent(expected), used, needed;
	char effect[128];

	if (percent <= MUCH_PERCENT)
		return;
	needed = 100.0 * (double)expected->cpu_ns / (double)look_ns;
	used = needed * (1 - percent / 100);
	if (needed < BUSY_PERCENT)
		snprintf(effect, sizeof(effect),
			 "its work takes %.0f %% of a CPU instead of %.1f %%", needed, used);
	else
		snprintf(effect, sizeof(effect), "it will run at %.0f %% of its speed",
			 100 - percent);
	warn("the probes will take about %.0f %% of the target's CPU time (%s calls in %.1f s, "
	     "traps of %.1f us): %s. These cost less: -p PID --inject, which lets it sample "
	     "itself; %sa launch by cprof heap -- COMMAND.",
	     percent, text_count(expected->nr_traps), (double)look_ns / NSEC_PER_SEC,
	     (double)expected->cost_ns / (double)expected->nr_traps / 1e3, effect,
	     allocs_only ? "" : "--alloc-only, which omits frees; ");
}

bool overhead_limit_is_due(struct overhead_limit *limit, uint64_t now_ns)
{
	if (limit->percent >= 100 || limit->reached > 0 || now_ns < limit->look_ns)
		return false;
	limit->look_ns = now_ns + OVERHEAD_LOOK_EVERY_NS;
	return true;
}

/* A piece of time was over the limit, or was not. */
static void judge(struct overhead_limit *limit, double percent, int nr_needed)
{
	limit->nr_over = percent > limit->percent ? limit->nr_over + 1 : 0;
	if (limit->nr_over >= nr_needed)
		limit->reached = percent;
}

static void look_at_machine(struct overhead_limit *limit, const struct overhead *now,
			    uint64_t now_ns)
{
	double could_ns = (double)limit->nr_cpus * (double)(now_ns - limit->begin_ns);

	if (now_ns - limit->begin_ns < MACHINE_PIECE_NS)
		return;
	judge(limit, 100.0 * (double)(now->cost_ns - limit->begin.cost_ns) / could_ns,
	      MACHINE_PIECES);
	limit->begin = *now;
	limit->begin_ns = now_ns;
}

static void look_at_targets(struct overhead_limit *limit, const struct overhead *now)
{
	struct overhead piece = {.nr_traps = now->nr_traps - limit->begin.nr_traps,
				 .cost_ns = now->cost_ns - limit->begin.cost_ns,
				 .cpu_ns = now->cpu_ns - limit->begin.cpu_ns};

	/* The clocks of processes are read one after another: it may seem to go back. */
	if (now->cpu_ns < limit->begin.cpu_ns || piece.cpu_ns < PIECE_NS)
		return;
	judge(limit, overhead_percent(&piece), 1);
	limit->begin = *now;
}

bool overhead_limit_look(struct overhead_limit *limit, const struct overhead *now, uint64_t now_ns)
{
	if (limit->percent >= 100 || limit->reached > 0)
		return limit->reached > 0;
	if (limit->nr_cpus)
		look_at_machine(limit, now, now_ns);
	else
		look_at_targets(limit, now);
	return limit->reached > 0;
}
