// SPDX-License-Identifier: BSD-2-Clause
/*
 * One function for each reason. The first three are checked alone: where a side is empty, a copy
 * or of another kind, the numbers that the others look at mean nothing.
 */
#include "gate/refuse.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

#define LEAST_REPLICATES 2

static const char *const side_names[] = {"base", "head"};

#define refuse(result, ...) vec_push(&(result)->reasons, xasprintf(__VA_ARGS__))

/* A run's file, fit to show, in the caller's buffer. */
struct shown {
	char text[512];
};

static const char *show(const struct run *run, struct shown *shown)
{
	return text_escape(run->name, shown->text, sizeof(shown->text));
}

static void refuse_empty(struct gate_result *result)
{
	for (int side = RUN_BASE; side <= RUN_HEAD; side++)
		if (!result->nr_runs[side])
			refuse(result, "%s has no profiles: give them with --%s", side_names[side],
			       side_names[side]);
	vec_for_each(&result->runs->at, run) {
		struct shown name;

		if (run->has_negative)
			refuse(result,
			       "%s has negative values: it is a difference, not a run; give the "
			       "recorded profiles",
			       show(run, &name));
		else if (!(run->total > 0))
			refuse(result,
			       "%s is empty, without %s: run it longer, or sample more often (-F)",
			       show(run, &name), result->runs->type);
	}
}

static void refuse_copies(struct gate_result *result)
{
	const struct runs *runs = result->runs;
	struct shown a, b;

	for (size_t i = 0; i < runs->at.nr; i++) {
		for (size_t j = 0; j < i; j++) {
			if (runs->at.at[i].content != runs->at.at[j].content ||
			    !runs->at.at[i].content)
				continue;
			refuse(result, "%s and %s are copies of one profile: give separate runs",
			       show(&runs->at.at[j], &a), show(&runs->at.at[i], &b));
			return;
		}
	}
}

static void refuse_other_kinds(struct gate_result *result)
{
	const struct runs *runs = result->runs;
	struct shown a, b;

	for (size_t i = 1; i < runs->at.nr; i++) {
		const struct run *first = &runs->at.at[0], *other = &runs->at.at[i];
		char kinds[2][256];

		if (!strcmp(first->kind, other->kind))
			continue;
		refuse(result,
		       "%s and %s cannot be compared: %s against %s; record both sides with the "
		       "same options",
		       show(first, &a), show(other, &b),
		       text_escape(first->kind, kinds[0], sizeof(kinds[0])),
		       text_escape(other->kind, kinds[1], sizeof(kinds[1])));
		return;
	}
}

static void refuse_few_samples(struct gate_result *result)
{
	for (int side = RUN_BASE; side <= RUN_HEAD; side++) {
		double nr = result->nr_samples[side];

		if (result->nr_runs[side] && nr < result->options.min_samples)
			refuse(result,
			       "%s has %s samples, fewer than %s (--min-samples): sample more "
			       "often (-F), or take more or longer runs (bench: --reps, "
			       "--max-time)",
			       side_names[side], text_count(nr),
			       text_count(result->options.min_samples));
	}
}

static void refuse_losses(struct gate_result *result)
{
	vec_for_each(&result->runs->at, run) {
		double percent = run->nr_taken > 0 ? 100 * run->nr_lost / run->nr_taken : 0;
		struct shown name;

		if (percent > result->options.max_loss)
			refuse(result,
			       "%s lost %.1f %% of its samples, more than %g %% (--max-loss): "
			       "record it again, with a lower -F if necessary",
			       show(run, &name), percent, result->options.max_loss);
	}
}

static void refuse_unknown(struct gate_result *result)
{
	double unknown[2] = {0}, total[2] = {0}, percent[2];

	vec_for_each(&result->runs->at, run) {
		unknown[run->side] += run->unknown;
		total[run->side] += run->total;
	}
	for (int side = RUN_BASE; side <= RUN_HEAD; side++)
		percent[side] = total[side] > 0 ? 100 * unknown[side] / total[side] : 0;
	if (fabs(percent[RUN_BASE] - percent[RUN_HEAD]) > result->options.max_unknown)
		refuse(result,
		       "%.1f %% of base and %.1f %% of head are in unknown or truncated stacks, "
		       "more than %g points apart (--max-unknown): build both sides with the same "
		       "flags and unwind information",
		       percent[RUN_BASE], percent[RUN_HEAD], result->options.max_unknown);
}

static void refuse_single(struct gate_result *result)
{
	if (result->options.single || !result->nr_runs[RUN_BASE] || !result->nr_runs[RUN_HEAD])
		return;
	for (int side = RUN_BASE; side <= RUN_HEAD; side++)
		if (result->nr_runs[side] < LEAST_REPLICATES)
			refuse(result,
			       "%s has only one run, so the variation between runs is unknown: "
			       "take more "
			       "runs (five are good), or assume it with --single",
			       side_names[side]);
}

void gate_refuse(struct gate_result *result)
{
	refuse_empty(result);
	refuse_copies(result);
	refuse_other_kinds(result);
	if (result->reasons.nr)
		return; /* what follows would only repeat it */
	refuse_few_samples(result);
	refuse_losses(result);
	refuse_unknown(result);
	refuse_single(result);
}

void gate_refuse_untested(struct gate_result *result)
{
	const struct gate_options *options = &result->options;

	if (result->tests.nr)
		return;
	if (options->no_absolute)
		refuse(result,
		       "one function is nearly all of the run, so that shares cannot show a "
		       "change: use --as absolute, with runs of the same work");
	else
		refuse(result, "no function has enough weight to be tested: lower --min-share");
}
