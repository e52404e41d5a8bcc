// SPDX-License-Identifier: BSD-2-Clause
/* cprof check: has it become slower, or larger? And, on one's own runs, how often would that be wrong? */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "tools/gating.h"
#include "tools/reading.h"

#define NR_SPLITS     200
#define LEAST_TO_TEST 4 /* runs for --self-test: two a side */

struct check {
	struct gating gating;
	struct arg_list base, head, self_test;
	bool allow_missing_baseline;
};

static int add_all(struct check *check, const struct arg_list *paths, enum run_side side,
		   struct runs *runs)
{
	int err = 0;

	for (size_t i = 0; !err && i < paths->nr; i++)
		err = gating_add(&check->gating, paths->at[i], side, runs);
	return err;
}

/*
 * None is named (a glob that matched nothing), or none of those named exists: not the same as one that
 * cannot be read.
 */
static bool is_baseline_missing(const struct arg_list *base)
{
	for (size_t i = 0; i < base->nr; i++)
		if (!strcmp(base->at[i], "-") || !access(base->at[i], F_OK) || errno != ENOENT)
			return false;
	return true;
}

static enum exit_code report(struct check *check, const struct runs *runs)
{
	struct gate_result result;
	enum exit_code code;

	gate_check(runs, &check->gating.options, &result);
	code = gating_report(&check->gating, &result);
	gate_release(&result);
	return code;
}

/* Names what is missing, so that a mistyped name does not pass for a first run. */
static void say_missing(const struct check *check)
{
	const char *allowed =
		check->allow_missing_baseline ? " (accepted by --allow-missing-baseline)" : "";
	char name[512];

	if (!check->base.nr)
		say("no baseline%s", allowed);
	else
		say("no baseline%s: '%s' does not exist%s", allowed,
		    text_escape(check->base.at[0], name, sizeof(name)),
		    check->base.nr > 1 ? ", nor does any other --base file" : "");
}

/* Without a baseline the head must be good even so: a job whose profiler broke is not to pass. */
static enum exit_code compare(struct check *check)
{
	bool missing = is_baseline_missing(&check->base);
	struct runs runs = {0};
	enum exit_code code = EXIT_USAGE;

	if (!check->head.nr) {
		warn("no profiles to check: use --base FILE... --head FILE..., or --self-test "
		     "FILE...");
		return EXIT_USAGE;
	}
	if (!check->base.given && !check->allow_missing_baseline) {
		warn("no baseline given: use --base FILE..., or --allow-missing-baseline for a "
		     "first run.");
		return EXIT_USAGE;
	}
	if ((missing || !add_all(check, &check->base, RUN_BASE, &runs)) &&
	    !add_all(check, &check->head, RUN_HEAD, &runs))
		code = report(check, &runs);
	runs_release(&runs);
	if (code != EXIT_NOTHING || !missing)
		return code;
	say_missing(check);
	return check->allow_missing_baseline ? EXIT_DONE : code;
}

/* The self-test ----------------------------------------------------------------------------------- */

struct self_test {
	size_t nr_splits, nr_flagged;
	uint32_t *flagged; /* by function; the total's last */
};

/* A random half of them becomes the head; splitmix64, so that a repetition is one. */
static void split(struct runs *runs, uint64_t *state)
{
	size_t wanted = runs->at.nr / 2;

	for (size_t i = 0; i < runs->at.nr; i++) {
		uint64_t z = *state += 0x9e3779b97f4a7c15;
		bool head;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
		z = (z ^ z >> 27) * 0x94d049bb133111eb;
		head = (z ^ z >> 31) % (runs->at.nr - i) < wanted;
		runs->at.at[i].side = head ? RUN_HEAD : RUN_BASE;
		wanted -= head;
	}
}

static void count_flags(struct self_test *test, const struct gate_result *result)
{
	const struct runs *runs = result->runs;

	test->nr_splits++;
	test->nr_flagged += result->verdict == GATE_REGRESSION;
	vec_for_each(&result->rows, row)
		if ((*row)->outcome == GATE_REGRESSED)
			test->flagged[(*row)->function ? (*row)->function - runs->functions.at
						       : (ptrdiff_t)runs->functions.nr]++;
}

/* false: the runs are refused, and nothing can be said: *code. */
static bool try_splits(struct check *check, struct runs *runs, struct self_test *test,
		       enum exit_code *code)
{
	uint64_t state = 1;

	for (int i = 0; i < NR_SPLITS; i++) {
		struct gate_result result;

		split(runs, &state);
		gate_check(runs, &check->gating.options, &result);
		if (result.verdict == GATE_INCONCLUSIVE) {
			*code = gating_report(&check->gating, &result);
			gate_release(&result);
			return false;
		}
		count_flags(test, &result);
		gate_release(&result);
	}
	return true;
}

static enum exit_code say_self_test(const struct check *check, const struct runs *runs,
				    const struct self_test *test)
{
	double rate = (double)test->nr_flagged / test->nr_splits;
	char name[160];

	printf("self-test: %zu of %zu random splits of these %zu runs are flagged (%.1f %%)\n",
	       test->nr_flagged, test->nr_splits, runs->at.nr, 100 * rate);
	for (size_t i = 0; i <= runs->functions.nr; i++) {
		const char *function = i < runs->functions.nr ? runs->functions.at[i].name
							      : "total";

		if (test->flagged[i])
			printf("%6u times: %s\n", test->flagged[i],
			       text_escape(function, name, sizeof(name)));
	}
	if (rate <= check->gating.options.alpha)
		return EXIT_DONE;
	printf("more than --alpha %g: these runs differ too much for a reliable verdict\n",
	       check->gating.options.alpha);
	return EXIT_NOTHING;
}

static enum exit_code self_test(struct check *check)
{
	struct runs runs = {0};
	struct self_test test = {0};
	enum exit_code code = EXIT_USAGE;

	if (check->self_test.nr < LEAST_TO_TEST || check->base.nr || check->head.nr) {
		warn("--self-test needs at least %d runs, and cannot be combined with --base or "
		     "--head.",
		     LEAST_TO_TEST);
		return EXIT_USAGE;
	}
	if (gating_has_reports(&check->gating)) {
		warn("--self-test has no verdict to report: it cannot be combined with --json, "
		     "--markdown, --junit, --sarif or --github.");
		return EXIT_USAGE;
	}
	if (!add_all(check, &check->self_test, RUN_BASE, &runs)) {
		test.flagged = xcalloc(runs.functions.nr + 1, sizeof(*test.flagged));
		if (try_splits(check, &runs, &test, &code))
			code = say_self_test(check, &runs, &test);
		freep(&test.flagged);
	}
	runs_release(&runs);
	return code;
}

static enum exit_code run_check(struct check *check, const struct arg_list *operands)
{
	if (operands->nr) {
		warn("unexpected argument '%s': give profiles with --base FILE... --head FILE...",
		     operands->at[0]);
		return EXIT_USAGE;
	}
	if (gating_complete(&check->gating))
		return EXIT_USAGE;
	return check->self_test.nr ? self_test(check) : compare(check);
}

int cmd_check(int argc, char **argv)
{
	struct check check = {.allow_missing_baseline = false};
	struct reading reading = {.no_sandbox = false};
	const struct arg_row rows[] = {
		{"base", 0, ARG_OPERANDS, "FILE...",
		 "read these profiles as runs of the old version", &check.base},
		{"head", 0, ARG_OPERANDS, "FILE...",
		 "read these profiles as runs of the new version", &check.head},
		{"self-test", 0, ARG_OPERANDS, "FILE...",
		 "split runs of one program at random, and report how often "
		 "one half is flagged against the other",
		 &check.self_test},
		{"allow-missing-baseline", 0, ARG_FLAG, NULL, "exit with 0 if no base file exists",
		 &check.allow_missing_baseline},
		GATING_ROWS(&check.gating),
		READING_ROWS(&reading),
	};
	struct args args scoped(args_release) = {
		.command = "check",
		.operands = "--base FILE... --head FILE...",
		.about = "Detect performance regressions: compare several runs of each side, in "
			 "total and by "
			 "function, and tell a significant change from the noise between runs.",
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog =
			"Exit codes: 0 no regression, 1 regression, 2 usage error, or a file "
			"cannot be read or "
			"written, 3 inconclusive: too few samples, not comparable, or no baseline",
	};
	enum exit_code code;

	gating_init(&check.gating);
	if (reading_begin(&reading, &args, argc, argv, &code))
		code = run_check(&check, &args.operand);
	gating_release(&check.gating);
	return code;
}
