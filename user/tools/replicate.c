// SPDX-License-Identifier: BSD-2-Clause
/* The sides take turns at being first, and the number of runs grows until there are enough samples. */
#include "tools/replicate.h"

#include <signal.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

/* runs NULL: it only warms up. */
static enum exit_code one_run(const struct replicate *replicate, enum launch_kind kind,
			      enum run_side side, uint32_t number, struct gating *gating,
			      struct runs *runs)
{
	char *profile scoped(freep) = launch_path(&replicate->launch, kind, side, number);
	enum exit_code code;

	if (launcher_was_interrupted())
		return EXIT_NOTHING;
	code = launcher_run(&replicate->launcher, kind, side, number);
	if (code || !runs)
		return code;
	return gating_add(gating, profile, side, runs) ? EXIT_USAGE : EXIT_DONE;
}

static bool is_enough(const struct replicate *replicate, const struct gating *gating,
		      const struct runs *runs, uint32_t nr_pairs)
{
	double nr_samples[2] = {0};

	vec_for_each(&runs->at, run)
		nr_samples[run->side] += run->nr_samples;
	log_status("%u of %u pairs, %s and %s samples", nr_pairs, replicate->nr_reps,
		   text_count(nr_samples[RUN_BASE]), text_count(nr_samples[RUN_HEAD]));
	return nr_pairs >= replicate->nr_reps &&
	       nr_samples[RUN_BASE] >= gating->options.min_samples &&
	       nr_samples[RUN_HEAD] >= gating->options.min_samples;
}

static enum exit_code one_pair(const struct replicate *replicate, enum launch_kind kind,
			       uint32_t number, struct gating *gating, struct runs *runs)
{
	enum run_side first = number % 2 ? RUN_BASE : RUN_HEAD;
	enum exit_code code = one_run(replicate, kind, first, number, gating, runs);

	return code ? code : one_run(replicate, kind, !first, number, gating, runs);
}

/* What is complete is judged. */
static enum exit_code on_interrupt(uint32_t nr_pairs, enum exit_code code)
{
	warn("interrupted after %u pairs of runs.", nr_pairs);
	if (!nr_pairs)
		return EXIT_NOTHING;
	return code == EXIT_NOTHING ? EXIT_DONE : code;
}

enum exit_code replicate(const struct replicate *replicate, enum launch_kind kind,
			 struct gating *gating, struct runs *runs)
{
	uint64_t end_ns = clock_monotonic_ns() + replicate->max_time_ns;
	enum exit_code code = EXIT_DONE;
	uint32_t nr_pairs = 0;
	void (*on_pipe)(int) = signal(SIGPIPE, SIG_IGN); /* a launcher that is gone is noticed */

	launcher_hear_interrupts(true);
	for (uint32_t i = 1; !code && i <= replicate->nr_warm_up; i++)
		code = one_pair(replicate, LAUNCH_WARM_UP, i, gating, NULL);
	while (!code && !is_enough(replicate, gating, runs, nr_pairs)) {
		if (clock_monotonic_ns() > end_ns) {
			warn("stopped by --max-time after %u pairs of runs.", nr_pairs);
			break;
		}
		code = one_pair(replicate, kind, nr_pairs + 1, gating, runs);
		nr_pairs += !code;
	}
	launcher_hear_interrupts(false);
	signal(SIGPIPE, on_pipe);
	return launcher_was_interrupted() ? on_interrupt(nr_pairs, code) : code;
}
