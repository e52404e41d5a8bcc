// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs are sparse, since each has only the functions that it met; tests want a value from every
 * run. Only functions with weight on either side get a row: a twentieth of min_share, since cost
 * that moved may come from several functions that are too small to be tested themselves.
 */
#include "gate/dense.h"

#include <stdlib.h>

static void order_runs(struct dense *dense)
{
	const struct runs *runs = dense->runs;
	double variance = 0, total = 0;
	size_t nr = 0;

	dense->order = xcalloc(runs->at.nr, sizeof(*dense->order));
	dense->totals = xcalloc(runs->at.nr, sizeof(*dense->totals));
	for (int side = RUN_BASE; side <= RUN_HEAD; side++) {
		for (size_t i = 0; i < runs->at.nr; i++) {
			if ((int)runs->at.at[i].side != side)
				continue;
			dense->totals[nr] = runs->at.at[i].total;
			dense->order[nr++] = i;
			variance += runs->at.at[i].total_variance;
			total += runs->at.at[i].total;
		}
	}
	dense->weight = variance / total;
}

/* Sums of cum over each side, of every function: twice the functions, base's first. */
static double *sums_of_functions(const struct runs *runs)
{
	double *sums = xcalloc(2 * runs->functions.nr, sizeof(*sums));

	vec_for_each(&runs->at, run)
		vec_for_each(&run->cells, cell)
			sums[run->side * runs->functions.nr + cell->function] += cell->cum;
	return sums;
}

/*
 * By its cumulative value, which is never less than the flat one. What is tested has min_share; cost
 * that moved may come from several functions with less.
 */
#define SMALL_PART 20

static void select_functions(const struct gate_result *result, struct dense *dense)
{
	const struct runs *runs = dense->runs;
	double *sums scoped(freep) = sums_of_functions(runs);
	bool *compared scoped(freep) = runs_compared(runs);
	double least[2];

	for (int side = RUN_BASE; side <= RUN_HEAD; side++)
		least[side] = result->options.min_share / 100 / SMALL_PART *
			      result->mean_total[side] * result->nr_runs[side];
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

static void fill_column(struct dense *dense, size_t column)
{
	const struct run *run = &dense->runs->at.at[dense->order[column]];

	vec_for_each(&run->cells, cell) {
		size_t row = dense->row_of[cell->function], at;

		if (!row)
			continue;
		at = (row - 1) * dense->nr_runs + column;
		dense->values[DENSE_FLAT][at] = cell->flat;
		dense->values[DENSE_CUM][at] = cell->cum;
		dense->variances[DENSE_FLAT][at] = cell->flat_variance;
		dense->variances[DENSE_CUM][at] = cell->cum_variance;
	}
}

void dense_make(const struct gate_result *result, struct dense *dense)
{
	size_t nr;

	*dense = (struct dense){.runs = result->runs,
				.nr_runs = result->runs->at.nr,
				.nr_base = result->nr_runs[RUN_BASE]};
	order_runs(dense);
	select_functions(result, dense);
	nr = dense->nr_rows * dense->nr_runs;
	for (int i = 0; i < NR_DENSE; i++) {
		dense->values[i] = xcalloc(nr, sizeof(double));
		dense->variances[i] = xcalloc(nr, sizeof(double));
	}
	for (size_t i = 0; i < dense->nr_runs; i++)
		fill_column(dense, i);
}

void dense_release(struct dense *dense)
{
	free(dense->order);
	free(dense->totals);
	free(dense->row_of);
	free(dense->functions);
	for (int i = 0; i < NR_DENSE; i++) {
		free(dense->values[i]);
		free(dense->variances[i]);
	}
	*dense = (struct dense){0};
}

const double *dense_row(const struct dense *dense, enum dense_measure measure, size_t row)
{
	return &dense->values[measure][row * dense->nr_runs];
}

double dense_sum(const struct dense *dense, const double *values, enum run_side side)
{
	size_t first = side == RUN_BASE ? 0 : dense->nr_base;
	size_t end = side == RUN_BASE ? dense->nr_base : dense->nr_runs;
	double sum = 0;

	for (size_t i = first; i < end; i++)
		sum += values[i];
	return sum;
}

double dense_weight(const struct dense *dense, enum dense_measure measure, size_t row)
{
	const double *values = dense_row(dense, measure, row);
	const double *variances = &dense->variances[measure][row * dense->nr_runs];
	double value = 0, variance = 0;

	for (size_t i = 0; i < dense->nr_runs; i++) {
		value += values[i];
		variance += variances[i];
	}
	return variance / value;
}
