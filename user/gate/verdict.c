// SPDX-License-Identifier: BSD-2-Clause
/*
 * A list of steps: count, refuse, compare, judge each test, find moved cost, judge the whole,
 * choose the rows to show. A test is judged by significance and size together, and in both
 * quantities (share and absolute) where both count: a share that grows alone only says that the
 * rest got faster.
 */
#include "gate/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gate/compare.h"
#include "gate/moved.h"
#include "gate/refuse.h"

const struct gate_options gate_default_options = {
	.max_growth = 10,
	.max_delta = 0.5,
	.min_share = 0.5,
	.alpha = 0.05,
	.max_loss = 1,
	.max_unknown = 2,
	.min_samples = 1000,
};

#define NEARLY_ALL 0.95 /* of the total */

/* Numbers of samples stay printable, whatever a file says. */
static void count_runs(struct gate_result *result)
{
	vec_for_each(&result->runs->at, run) {
		result->nr_runs[run->side]++;
		result->nr_samples[run->side] =
			fmin(result->nr_samples[run->side] + run->nr_samples, 0x1p62);
		result->mean_total[run->side] += run->total;
	}
	for (int side = RUN_BASE; side <= RUN_HEAD; side++)
		if (result->nr_runs[side])
			result->mean_total[side] /= result->nr_runs[side];
}

/* Judging ---------------------------------------------------------------------------------------- */

/* In either direction: by the floors. Of the total, growth and delta are one. */
static bool is_large(const struct gate_options *options, double growth, double delta)
{
	return fabs(growth) > options->max_growth && fabs(delta) > options->max_delta;
}

/*
 * Where there is no size factor, shares of two functions cannot tell which of them changed: then the
 * absolute values must know, whether they are tested or not.
 */
static bool is_borne_out(const struct gate_result *result, const struct gate_test *test)
{
	const struct gate_options *options = &result->options;

	if (test->quantity != GATE_SHARE || (options->no_absolute && result->factor.is_known))
		return true;
	return (test->delta > 0) == (test->run_delta > 0) &&
	       is_large(options, test->run_growth, test->run_delta);
}

static enum gate_outcome outcome_of(const struct gate_result *result, const struct gate_test *test)
{
	const struct gate_options *options = &result->options;

	if (!is_large(options, test->growth, test->delta) || !is_borne_out(result, test))
		return GATE_SAME;
	if (test->delta > 0 && test->p_grown < options->alpha)
		return GATE_REGRESSED;
	if (test->delta < 0 && test->p_shrunk < options->alpha)
		return GATE_IMPROVED;
	return GATE_SAME;
}

static void judge(struct gate_result *result)
{
	result->verdict = result->reasons.nr ? GATE_INCONCLUSIVE : GATE_PASS;
	vec_for_each(&result->tests, test)
		if (test->outcome == GATE_REGRESSED && result->verdict == GATE_PASS)
			result->verdict = GATE_REGRESSION;
}

/* What to show ----------------------------------------------------------------------------------- */

static int order_of(double a, double b)
{
	return (a > b) - (a < b);
}

/* Orders a function's tests by what they tell: the worse result, then the place of the cost, then the more certain one. */
static int compare_telling(const struct gate_test *a, const struct gate_test *b)
{
	if (a->outcome != b->outcome)
		return order_of(a->outcome, b->outcome);
	if (a->measure != b->measure)
		return order_of(a->measure, b->measure);
	if (a->outcome != GATE_SAME)
		return order_of(fmin(a->p_grown, a->p_shrunk), fmin(b->p_grown, b->p_shrunk));
	return order_of(b->quantity, a->quantity);
}

/* Rows: the total before functions, and those whose own cost grew before those that call them. */
static int compare_rows(const void *left, const void *right)
{
	const struct gate_test *a = *(const struct gate_test *const *)left;
	const struct gate_test *b = *(const struct gate_test *const *)right;
	bool changed = a->outcome != GATE_SAME;

	if (a->outcome != b->outcome)
		return order_of(a->outcome, b->outcome);
	if (!a->function || !b->function)
		return order_of(!!a->function, !!b->function);
	if (changed && a->measure != b->measure)
		return order_of(a->measure, b->measure);
	if (changed && a->rank != b->rank)
		return order_of(fabs(b->rank), fabs(a->rank));
	if (a->stats.base != b->stats.base)
		return order_of(b->stats.base, a->stats.base);
	return strcmp(a->function->name, b->function->name);
}

static void choose_rows(struct gate_result *result)
{
	size_t nr_functions = result->runs->functions.nr;
	const struct gate_test **best scoped(freep) = xcalloc(nr_functions + 1, sizeof(*best));
	/* cost that moved is shown at the function that has it now */
	bool *is_gone scoped(freep) = xcalloc(nr_functions + 1, sizeof(*is_gone));

	result->rows.nr = 0;
	vec_for_each(&result->tests, test) {
		size_t at = test->function ? test->function - result->runs->functions.at
					   : (ptrdiff_t)nr_functions;

		is_gone[at] |= test->moved_to != NULL;
		if (!best[at] || compare_telling(test, best[at]) < 0)
			best[at] = test;
	}
	for (size_t i = 0; i <= nr_functions; i++)
		if (best[i] && !is_gone[i])
			vec_push(&result->rows, best[i]);
	if (result->rows.nr)
		qsort(result->rows.at, result->rows.nr, sizeof(*result->rows.at), compare_rows);
}

void gate_check(const struct runs *runs, const struct gate_options *options,
		struct gate_result *result)
{
	*result = (struct gate_result){.runs = runs,
				       .options = *options,
				       .detectable_total = NAN,
				       .detectable_share = NAN};
	count_runs(result);
	result->is_weak = options->single &&
			  (result->nr_runs[RUN_BASE] < 2 || result->nr_runs[RUN_HEAD] < 2);
	gate_refuse(result);
	if (!result->reasons.nr) {
		struct comparison comparison;

		comparison_make(result, &comparison);
		vec_for_each(&result->tests, test)
			test->outcome = outcome_of(result, test);
		gate_find_moved(&comparison);
		comparison_release(&comparison);
		gate_refuse_untested(result);
	}
	judge(result);
	choose_rows(result);
}

/* Names, not positions: the two have runs of their own. */
static bool regressed_before(const struct gate_result *first, const struct gate_test *test)
{
	vec_for_each(&first->tests, other) {
		if (other->outcome != GATE_REGRESSED || !other->function != !test->function)
			continue;
		if (!test->function || !strcmp(test->function->name, other->function->name))
			return true;
	}
	return false;
}

void gate_confirm(struct gate_result *result, const struct gate_result *first)
{
	vec_for_each(&result->tests, test)
		if (test->outcome == GATE_REGRESSED && !regressed_before(first, test))
			test->outcome = GATE_UNCONFIRMED;
	judge(result);
	choose_rows(result);
}

static bool is_scaffold(const char *name)
{
	static const char *const starts[] = {"_start",	  "__libc_start_", "_dl_",
					     "dl_main",	  "do_lookup_x",   "ld-linux",
					     "[ld-linux", "ld.so",	   "[ld.so]"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* Is the value nearly all of the total? For absolute values; such shares are not tested. */
static bool is_nearly_all(const struct gate_result *result, const struct gate_test *test)
{
	return test->measure == GATE_CUM && test->quantity == GATE_ABSOLUTE &&
	       test->stats.base >= NEARLY_ALL * result->mean_total[RUN_BASE] &&
	       test->stats.head >= NEARLY_ALL * result->mean_total[RUN_HEAD];
}

bool gate_is_everywhere(const struct gate_result *result, const struct gate_test *test)
{
	const struct gate_test *total = result->tests.at;

	if (!test->function)
		return false;
	if (test->outcome == GATE_SAME && is_scaffold(test->function->name))
		return true;
	return is_nearly_all(result, test) && total->measure == GATE_TOTAL &&
	       (test->outcome == GATE_SAME || test->outcome == total->outcome);
}

bool gate_is_finding(const struct gate_result *result, const struct gate_test *test)
{
	return test->outcome == GATE_REGRESSED && !gate_is_everywhere(result, test);
}

void gate_release(struct gate_result *result)
{
	vec_for_each(&result->reasons, reason)
		free(*reason);
	vec_release(&result->reasons);
	vec_release(&result->tests);
	vec_release(&result->moves);
	vec_release(&result->rows);
}

const char *gate_verdict_name(enum gate_verdict verdict)
{
	static const char *const names[] = {"pass", "regression", "inconclusive"};

	return names[verdict];
}

const char *gate_outcome_name(enum gate_outcome outcome)
{
	static const char *const names[] = {"regressed", "moved", "unconfirmed", "improved",
					    "same"};

	return names[outcome];
}

const char *gate_measure_name(enum gate_measure measure)
{
	static const char *const names[] = {"total", "flat", "cum"};

	return names[measure];
}

const char *gate_quantity_name(enum gate_quantity quantity)
{
	static const char *const names[] = {"absolute", "share"};

	return names[quantity];
}
