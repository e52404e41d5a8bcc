// SPDX-License-Identifier: BSD-2-Clause
/*
 * Units fall into families by measure and quantity, each with a fit of its own, since they do not
 * scatter alike; what is adjusted and what can be detected is of all families together. A unit that is
 * no other than one already there (the cumulative value of a function that calls nothing) is not tested
 * twice, and a share that cannot grow by max_growth, being nearly all already, is not tested.
 */
#include "gate/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values of all functions with weight, one row of nr_runs each; base first. */
struct dense {
	uint32_t *row_of; /* function to row + 1; 0: has no weight */
	uint32_t *functions;
	size_t nr_rows, nr_runs;
	double *values[2], *variances[2]; /* flat, cum */
};

struct checking {
	struct gate_result *result;
	const struct runs *runs;
	size_t *order; /* of runs: base first */
	double *totals;
	double weight; /* of the mean sample */
	struct dense dense;
};

static double rate_of_side(const struct checking *checking, const double *values,
			   enum run_side side, double *total)
{
	const struct gate_result *result = checking->result;
	size_t first = side == RUN_BASE ? 0 : result->nr_runs[RUN_BASE];
	double sum = 0;

	*total = 0;
	for (size_t i = first; i < first + result->nr_runs[side]; i++) {
		sum += values[i];
		*total += checking->totals[i];
	}
	return sum / *total;
}

static void order_runs(struct checking *checking)
{
	const struct runs *runs = checking->runs;
	double variance = 0, total = 0;
	size_t nr = 0;

	checking->order = xcalloc(runs->at.nr, sizeof(*checking->order));
	checking->totals = xcalloc(runs->at.nr, sizeof(*checking->totals));
	for (int side = RUN_BASE; side <= RUN_HEAD; side++) {
		for (size_t i = 0; i < runs->at.nr; i++) {
			if ((int)runs->at.at[i].side != side)
				continue;
			checking->totals[nr] = runs->at.at[i].total;
			checking->order[nr++] = i;
			variance += runs->at.at[i].total_variance;
			total += runs->at.at[i].total;
		}
	}
	checking->weight = variance / total;
}

/* What has weight -------------------------------------------------------------------------------- */

/* Sums of cum over each side, of every function: twice the functions, base's first. */
static double *sums_of_functions(const struct runs *runs)
{
	double *sums = xcalloc(2 * runs->functions.nr, sizeof(*sums));

	vec_for_each(&runs->at, run)
		vec_for_each(&run->cells, cell)
			sums[run->side * runs->functions.nr + cell->function] += cell->cum;
	return sums;
}

/* By its cumulative value, which is never less than the flat one. */
static void select_functions(struct checking *checking)
{
	const struct gate_result *result = checking->result;
	const struct runs *runs = checking->runs;
	struct dense *dense = &checking->dense;
	double *sums scoped(freep) = sums_of_functions(runs);
	bool *compared scoped(freep) = runs_compared(runs);
	double least[2];

	for (int side = RUN_BASE; side <= RUN_HEAD; side++)
		least[side] = result->options.min_share / 100 * result->mean_total[side] *
			      result->nr_runs[side];
	dense->row_of = xcalloc(runs->functions.nr, sizeof(*dense->row_of));
	dense->functions = xcalloc(runs->functions.nr, sizeof(*dense->functions));
	for (size_t i = 0; i < runs->functions.nr; i++) {
		if (!compared[i] ||
		    (sums[i] < least[RUN_BASE] && sums[runs->functions.nr + i] < least[RUN_HEAD]))
			continue;
		dense->functions[dense->nr_rows++] = i;
		dense->row_of[i] = dense->nr_rows;
	}
}

static void fill_dense(struct checking *checking)
{
	struct dense *dense = &checking->dense;
	size_t nr;

	dense->nr_runs = checking->runs->at.nr;
	nr = dense->nr_rows * dense->nr_runs;
	for (int i = 0; i < 2; i++) {
		dense->values[i] = xcalloc(nr, sizeof(double));
		dense->variances[i] = xcalloc(nr, sizeof(double));
	}
	for (size_t i = 0; i < dense->nr_runs; i++) {
		const struct run *run = &checking->runs->at.at[checking->order[i]];

		vec_for_each(&run->cells, cell) {
			size_t row = dense->row_of[cell->function], at;

			if (!row)
				continue;
			at = (row - 1) * dense->nr_runs + i;
			dense->values[0][at] = cell->flat;
			dense->values[1][at] = cell->cum;
			dense->variances[0][at] = cell->flat_variance;
			dense->variances[1][at] = cell->cum_variance;
		}
	}
}

static void release_checking(struct checking *checking)
{
	free(checking->order);
	free(checking->totals);
	free(checking->dense.row_of);
	free(checking->dense.functions);
	for (int i = 0; i < 2; i++) {
		free(checking->dense.values[i]);
		free(checking->dense.variances[i]);
	}
}

/* Families --------------------------------------------------------------------------------------- */

/* Units of one measure and quantity, and whose they are. */
struct family {
	enum gate_measure measure;
	enum gate_quantity quantity;
	struct stats_runs runs;
	vec_of(struct stats_unit) units;
	vec_of(const struct run_function *) functions;
};

static bool is_worth_testing(const struct checking *checking, const struct family *family,
			     size_t row)
{
	const struct dense *dense = &checking->dense;
	const struct gate_options *options = &checking->result->options;
	size_t bytes = dense->nr_runs * sizeof(double);
	const double *flat = &dense->values[0][row * dense->nr_runs];
	const double *cum = &dense->values[1][row * dense->nr_runs];
	const double *values = family->measure == GATE_FLAT ? flat : cum;
	double totals[2], base = rate_of_side(checking, values, RUN_BASE, &totals[0]);
	double head = rate_of_side(checking, values, RUN_HEAD, &totals[1]);
	double pooled = (base * totals[0] + head * totals[1]) / (totals[0] + totals[1]);

	if (family->measure == GATE_CUM && !options->no_flat && !memcmp(flat, cum, bytes))
		return false;
	if (fmax(base, head) * 100 < options->min_share || !(pooled > 0))
		return false;
	return family->quantity == GATE_ABSOLUTE || pooled * (1 + options->max_growth / 100) < 1;
}

static void add_unit(struct checking *checking, struct family *family, size_t row)
{
	const struct dense *dense = &checking->dense;
	bool cum = family->measure == GATE_CUM;
	const double *values = &dense->values[cum][row * dense->nr_runs];
	const double *variances = &dense->variances[cum][row * dense->nr_runs];
	double value = 0, variance = 0;

	for (size_t i = 0; i < dense->nr_runs; i++) {
		value += values[i];
		variance += variances[i];
	}
	vec_push(&family->units, (struct stats_unit){.values = values, .weight = variance / value});
	vec_push(&family->functions, &checking->runs->functions.at[dense->functions[row]]);
}

static void collect_units(struct checking *checking, struct family *family)
{
	if (family->measure == GATE_TOTAL) {
		vec_push(&family->units, (struct stats_unit){.values = checking->totals,
							     .weight = checking->weight});
		vec_push(&family->functions, NULL);
		return;
	}
	for (size_t row = 0; row < checking->dense.nr_rows; row++)
		if (is_worth_testing(checking, family, row))
			add_unit(checking, family, row);
}

static void add_test(struct checking *checking, const struct family *family,
		     const struct stats_fit *fit, size_t at)
{
	struct gate_result *result = checking->result;
	double whole = family->quantity == GATE_SHARE ? 1 : result->mean_total[RUN_BASE], change;
	struct gate_test test = {
		.function = family->functions.at[at],
		.measure = family->measure,
		.quantity = family->quantity,
		.outcome = GATE_SAME,
	};

	stats_compare(&family->runs, &family->units.at[at], fit, &test.stats);
	change = test.stats.head - test.stats.base;
	test.delta = 100 * change / whole;
	test.growth = test.stats.base > 0 ? 100 * change / test.stats.base : INFINITY;
	vec_push(&result->tests, test);
}

/* The first step of Holm's is Bonferroni's: what is found there is found whatever else is true. */
static void add_detectable(struct checking *checking, const struct family *family,
			   const struct stats_fit *fit, size_t first, size_t nr_tests)
{
	struct gate_result *result = checking->result;
	double reach = stats_reach(fit, result->options.alpha / nr_tests, GATE_POWER);

	for (size_t i = 0; i < family->units.nr; i++) {
		struct gate_test *test = &result->tests.at[first + i];

		test->detectable = stats_detectable(&family->runs, &family->units.at[i], fit,
						    test->stats.base, reach);
	}
}

static void detect_typical(struct checking *checking, const struct family *family,
			   const struct stats_fit *fit)
{
	struct gate_result *result = checking->result;
	struct stats_unit typical = {.weight = checking->weight,
				     .dispersion = fit->prior_dispersion};
	double reach = stats_reach(fit, result->options.alpha / result->tests.nr, GATE_POWER);

	result->cv = fit->cv * sqrt(fit->prior_dispersion);
	result->detectable_share =
		100 * stats_detectable(&family->runs, &typical, fit, GATE_TYPICAL_SHARE, reach);
}

#define NR_FAMILIES 5

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
	if (measure == GATE_TOTAL)
		return true;
	return !(measure == GATE_FLAT ? options->no_flat : options->no_cum) &&
	       !(quantity == GATE_SHARE ? options->no_share : options->no_absolute);
}

static void test_family(struct checking *checking, struct family *family, struct stats_fit *fit)
{
	const struct gate_result *result = checking->result;

	collect_units(checking, family);
	if (result->is_weak)
		stats_assume(family->units.at, family->units.nr, GATE_ASSUMED_CV, fit);
	else
		stats_fit(&family->runs, family->units.at, family->units.nr, fit);
	for (size_t i = 0; i < family->units.nr; i++)
		add_test(checking, family, fit, i);
}

static void test_families(struct checking *checking)
{
	struct gate_result *result = checking->result;
	struct family families[NR_FAMILIES] = {0};
	struct stats_fit fits[NR_FAMILIES];
	size_t first[NR_FAMILIES];

	for (size_t i = 0; i < NR_FAMILIES; i++) {
		struct family *family = &families[i];

		family->measure = family_kinds[i].measure;
		family->quantity = family_kinds[i].quantity;
		family->runs = (struct stats_runs){
			.nr_base = result->nr_runs[RUN_BASE],
			.nr_head = result->nr_runs[RUN_HEAD],
			.totals = family->quantity == GATE_SHARE ? checking->totals : NULL,
			.weight = checking->weight,
		};
		first[i] = result->tests.nr;
		if (is_wanted(&result->options, family->measure, family->quantity))
			test_family(checking, family, &fits[i]);
	}
	for (size_t i = 0; i < NR_FAMILIES; i++)
		if (families[i].units.nr)
			add_detectable(checking, &families[i], &fits[i], first[i],
				       result->tests.nr);
	result->detectable_total =
		100 * result->tests.at[0].detectable / result->tests.at[0].stats.base;
	for (size_t i = 0; i < NR_FAMILIES; i++) {
		if (families[i].units.nr && families[i].quantity == GATE_SHARE &&
		    isnan(result->detectable_share))
			detect_typical(checking, &families[i], &fits[i]);
		vec_release(&families[i].units);
		vec_release(&families[i].functions);
	}
}

static void adjust(struct gate_result *result)
{
	size_t nr = result->tests.nr;
	double *p scoped(freep) = xcalloc(nr, sizeof(*p));

	for (size_t i = 0; i < nr; i++)
		p[i] = result->tests.at[i].stats.p_grown;
	stats_holm(p, nr);
	for (size_t i = 0; i < nr; i++) {
		result->tests.at[i].p_grown = p[i];
		p[i] = result->tests.at[i].stats.p_shrunk;
	}
	stats_holm(p, nr);
	for (size_t i = 0; i < nr; i++)
		result->tests.at[i].p_shrunk = p[i];
}

void gate_compare(struct gate_result *result)
{
	struct checking checking = {.result = result, .runs = result->runs};

	order_runs(&checking);
	select_functions(&checking);
	fill_dense(&checking);
	test_families(&checking);
	adjust(result);
	release_checking(&checking);
}
