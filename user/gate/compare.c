// SPDX-License-Identifier: BSD-2-Clause
/*
 * Units fall into families by measure and quantity, each with a fit of its own, since they do not
 * scatter alike; what is adjusted and what can be detected is of all families together. A unit that is
 * no other than one already there (the cumulative value of a function that calls nothing) is not tested
 * twice, and a share that cannot grow by max_growth, being nearly all already, is not tested.
 *
 * Absolute values of functions, if shares are tested too, come second: they are looked at only if the
 * total changed (serial gatekeeping: Westfall and Krishen, Optimally weighted, fixed sequence and
 * gatekeeper multiple testing procedures, 2001). What one function does by itself its share tells; they
 * tell what all do together, which the total must show. So they do not cost the shares any power. Where
 * there is no size factor, shares tell little, and all are tested together.
 *
 * Without the absolute values of functions, the absolute total is not tested either: runs that do
 * different amounts of work are what that is for.
 */
#include "gate/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gate/factor.h"

/* The rate of a side: a share of its runs, or a mean of them, as the family has it. */
static double rate_of(const struct dense *dense, const double *values, enum run_side side)
{
	return dense_sum(dense, values, side) / dense_sum(dense, dense->totals, side);
}

/* Families --------------------------------------------------------------------------------------- */

static bool is_worth_testing(const struct comparison *comparison, const struct family *family,
			     size_t row)
{
	const struct dense *dense = &comparison->dense;
	const struct gate_options *options = &comparison->result->options;
	size_t bytes = dense->nr_runs * sizeof(double);
	const double *flat = dense_row(dense, DENSE_FLAT, row);
	const double *cum = dense_row(dense, DENSE_CUM, row);
	const double *values = family->measure == GATE_FLAT ? flat : cum;
	double base = rate_of(dense, values, RUN_BASE), head = rate_of(dense, values, RUN_HEAD);
	double totals[] = {dense_sum(dense, dense->totals, RUN_BASE),
			   dense_sum(dense, dense->totals, RUN_HEAD)};
	double pooled = (base * totals[0] + head * totals[1]) / (totals[0] + totals[1]);

	if (family->measure == GATE_CUM && !options->no_flat && !memcmp(flat, cum, bytes))
		return false;
	if (fmax(base, head) * 100 < options->min_share || !(pooled > 0))
		return false;
	return family->quantity == GATE_ABSOLUTE || pooled * (1 + options->max_growth / 100) < 1;
}

static void add_unit(const struct comparison *comparison, struct family *family, size_t row)
{
	enum dense_measure measure = family->measure == GATE_CUM ? DENSE_CUM : DENSE_FLAT;
	const struct dense *dense = &comparison->dense;

	vec_push(&family->units, (struct stats_unit){.values = dense_row(dense, measure, row),
						     .weight = dense_weight(dense, measure, row)});
	vec_push(&family->rows, row);
}

static void collect_units(const struct comparison *comparison, struct family *family)
{
	const struct dense *dense = &comparison->dense;

	if (family->measure == GATE_TOTAL) {
		vec_push(&family->units,
			 (struct stats_unit){.values = dense->totals, .weight = dense->weight});
		vec_push(&family->rows, 0);
		return;
	}
	for (size_t row = 0; row < dense->nr_rows; row++)
		if (is_worth_testing(comparison, family, row))
			add_unit(comparison, family, row);
}

static void fit_family(const struct comparison *comparison, struct family *family)
{
	if (comparison->result->is_weak)
		stats_assume(family->units.at, family->units.nr, GATE_ASSUMED_CV, &family->fit);
	else
		stats_fit(&family->runs, family->units.at, family->units.nr, &family->fit);
}

static struct stats_runs runs_of(const struct comparison *comparison, enum gate_quantity quantity)
{
	const struct dense *dense = &comparison->dense;

	return (struct stats_runs){
		.nr_base = dense->nr_base,
		.nr_head = dense->nr_runs - dense->nr_base,
		.totals = quantity == GATE_SHARE ? dense->totals : NULL,
		.weight = dense->weight,
	};
}

/* The size factor ------------------------------------------------------------------------------- */

/* Flat values: each sample is in one of them. A function's weight is that in both sides together. */
static void collect_for_factor(const struct comparison *comparison, struct family *family)
{
	const struct dense *dense = &comparison->dense;

	for (size_t row = 0; row < dense->nr_rows; row++) {
		const double *values = dense_row(dense, DENSE_FLAT, row);
		double share = rate_of(dense, values, RUN_BASE) + rate_of(dense, values, RUN_HEAD);

		if (share > 0 && 50 * share >= comparison->result->options.min_share)
			add_unit(comparison, family, row);
	}
}

static void estimate_factor(struct comparison *comparison)
{
	struct gate_result *result = comparison->result;
	struct dense *dense = &comparison->dense;
	struct family all = {.measure = GATE_FLAT,
			     .quantity = GATE_SHARE,
			     .runs = runs_of(comparison, GATE_SHARE)};

	collect_for_factor(comparison, &all);
	fit_family(comparison, &all);
	factor_estimate(&all.runs, all.units.at, all.units.nr, &all.fit, &result->factor);
	vec_release(&all.units);
	vec_release(&all.rows);
	comparison->scaled = xcalloc(dense->nr_runs, sizeof(double));
	for (size_t i = 0; i < dense->nr_runs; i++)
		comparison->scaled[i] =
			dense->totals[i] * (i < dense->nr_base ? 1 : exp(result->factor.log));
	result->size_ratio = result->mean_total[RUN_HEAD] / result->mean_total[RUN_BASE] *
			     exp(result->factor.log);
}

static void scale_family(const struct comparison *comparison, struct family *family)
{
	const struct factor *factor = &comparison->result->factor;

	if (family->quantity != GATE_SHARE || !factor->is_known)
		return;
	family->runs.totals = comparison->scaled;
	family->runs.is_scaled = true;
	family->runs.factor_variance = factor->variance;
}

/* Tests ------------------------------------------------------------------------------------------ */

/* The mean of a side's runs: of absolute values, even if shares are tested. */
static double mean_of(const struct dense *dense, const double *values, enum run_side side)
{
	size_t nr = side == RUN_BASE ? dense->nr_base : dense->nr_runs - dense->nr_base;

	return dense_sum(dense, values, side) / nr;
}

static double growth_of(double base, double head)
{
	return base > 0 ? 100 * (head - base) / base : INFINITY;
}

static void add_test(struct comparison *comparison, const struct family *family, size_t at)
{
	struct gate_result *result = comparison->result;
	const struct dense *dense = &comparison->dense;
	const struct stats_unit *unit = &family->units.at[at];
	double whole = family->quantity == GATE_SHARE ? 1 : result->mean_total[RUN_BASE];
	double base = mean_of(dense, unit->values, RUN_BASE);
	double head = mean_of(dense, unit->values, RUN_HEAD);
	struct gate_test test = {
		.measure = family->measure,
		.quantity = family->quantity,
		.outcome = GATE_SAME,
		.run_growth = growth_of(base, head),
		.run_delta = 100 * (head - base) / result->mean_total[RUN_BASE],
	};

	if (family->measure != GATE_TOTAL)
		test.function = &result->runs->functions.at[dense->functions[family->rows.at[at]]];
	stats_compare(&family->runs, unit, &family->fit, &test.stats);
	test.delta = 100 * (test.stats.head - test.stats.base) / whole;
	test.growth = growth_of(test.stats.base, test.stats.head);
	test.rank = result->options.no_absolute ? test.delta : test.run_delta;
	vec_push(&result->tests, test);
}

static void add_detectable(struct gate_result *result, const struct family *family, double level)
{
	double reach = stats_reach(&family->fit, level, GATE_POWER);

	for (size_t i = 0; i < family->units.nr; i++) {
		struct gate_test *test = &result->tests.at[family->first + i];

		test->detectable = stats_detectable(&family->runs, &family->units.at[i],
						    &family->fit, test->stats.base, reach);
	}
}

static void detect_typical(const struct comparison *comparison, const struct family *family,
			   double level)
{
	struct gate_result *result = comparison->result;
	const struct stats_fit *fit = &family->fit;
	struct stats_unit typical = {.weight = comparison->dense.weight,
				     .dispersion = fit->prior_dispersion};
	double reach = stats_reach(fit, level, GATE_POWER);

	result->cv = fit->cv * sqrt(fit->prior_dispersion);
	result->detectable_share =
		100 * stats_detectable(&family->runs, &typical, fit, GATE_TYPICAL_SHARE, reach);
}

static const struct {
	enum gate_measure measure;
	enum gate_quantity quantity;
} family_kinds[NR_FAMILIES] = {
	{GATE_TOTAL, GATE_ABSOLUTE}, {GATE_FLAT, GATE_SHARE},	{GATE_CUM, GATE_SHARE},
	{GATE_FLAT, GATE_ABSOLUTE},  {GATE_CUM, GATE_ABSOLUTE},
};

static bool is_wanted(const struct gate_options *options, enum gate_measure measure,
		      enum gate_quantity quantity)
{
	if (quantity == GATE_SHARE ? options->no_share : options->no_absolute)
		return false;
	return measure == GATE_TOTAL ||
	       !(measure == GATE_FLAT ? options->no_flat : options->no_cum);
}

static void test_families(struct comparison *comparison)
{
	struct gate_result *result = comparison->result;

	for (size_t i = 0; i < NR_FAMILIES; i++) {
		struct family *family = &comparison->families[i];

		family->measure = family_kinds[i].measure;
		family->quantity = family_kinds[i].quantity;
		family->runs = runs_of(comparison, family->quantity);
		family->first = result->tests.nr;
		/* the total of a run is none of its shares */
		if (!is_wanted(&result->options, family->measure, family->quantity))
			continue;
		collect_units(comparison, family);
		fit_family(comparison, family);
		scale_family(comparison, family);
		for (size_t j = 0; j < family->units.nr; j++)
			add_test(comparison, family, j);
	}
}

/* How many tests, in their order, need no other's leave. */
static size_t count_first(const struct comparison *comparison)
{
	const struct gate_result *result = comparison->result;
	size_t nr = 0;

	if (result->options.no_share || result->options.no_absolute || !result->factor.is_known)
		return result->tests.nr;
	vec_for_each(&result->tests, test)
		nr += test->measure == GATE_TOTAL || test->quantity == GATE_SHARE;
	return nr;
}

double comparison_level(const struct comparison *comparison, const struct family *family)
{
	const struct gate_result *result = comparison->result;
	size_t nr = comparison->nr_first;

	return result->options.alpha / (family->first < nr ? nr : result->tests.nr - nr);
}

static void find_detectable(struct comparison *comparison)
{
	struct gate_result *result = comparison->result;

	for (size_t i = 0; i < NR_FAMILIES; i++) {
		const struct family *family = &comparison->families[i];
		double level = comparison_level(comparison, family);

		if (!family->units.nr)
			continue;
		add_detectable(result, family, level);
		if (family->measure == GATE_TOTAL)
			result->detectable_total = 100 *
						   result->tests.at[family->first].detectable /
						   result->tests.at[family->first].stats.base;
		else if (family->quantity == GATE_SHARE && isnan(result->detectable_share))
			detect_typical(comparison, family, level);
	}
}

/* Holm's p values of some tests, in the direction of growth or of shrinking; none below least. */
static void adjust(struct gate_test *tests, size_t nr, bool grown, double least)
{
	double *p scoped(freep) = xcalloc(nr, sizeof(*p));

	for (size_t i = 0; i < nr; i++)
		p[i] = grown ? tests[i].stats.p_grown : tests[i].stats.p_shrunk;
	stats_holm(p, nr);
	for (size_t i = 0; i < nr; i++)
		*(grown ? &tests[i].p_grown : &tests[i].p_shrunk) = fmax(p[i], least);
}

static void adjust_all(const struct comparison *comparison)
{
	struct gate_result *result = comparison->result;
	struct gate_test *tests = result->tests.at;
	size_t nr = comparison->nr_first;

	if (!result->tests.nr)
		return;
	for (int grown = 0; grown < 2; grown++) {
		adjust(tests, nr, grown, 0);
		adjust(tests + nr, result->tests.nr - nr, grown,
		       grown ? tests->p_grown : tests->p_shrunk);
	}
}

void comparison_make(struct gate_result *result, struct comparison *comparison)
{
	*comparison = (struct comparison){.result = result};
	dense_make(result, &comparison->dense);
	estimate_factor(comparison);
	test_families(comparison);
	comparison->nr_first = count_first(comparison);
	find_detectable(comparison);
	adjust_all(comparison);
}

void comparison_release(struct comparison *comparison)
{
	for (size_t i = 0; i < NR_FAMILIES; i++) {
		vec_release(&comparison->families[i].units);
		vec_release(&comparison->families[i].rows);
	}
	free(comparison->scaled);
	dense_release(&comparison->dense);
}
