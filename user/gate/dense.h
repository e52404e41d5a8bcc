/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runs as a table: one row per function with enough weight, one column per run, the runs of the base before
 * those of the head.
 */
#ifndef CPROF_GATE_DENSE_H
#define CPROF_GATE_DENSE_H

#include <stddef.h>
#include <stdint.h>

#include "gate/verdict.h"

enum dense_measure {
	DENSE_FLAT,
	DENSE_CUM,
	NR_DENSE
};

struct dense {
	const struct runs *runs; /* borrowed */
	size_t nr_rows, nr_runs, nr_base;
	size_t *order;	     /* column to run */
	double *totals;	     /* of each column */
	double weight;	     /* of the mean sample: a run's sampling variance over its total */
	uint32_t *row_of;    /* function to row + 1; 0: too little weight */
	uint32_t *functions; /* row to function */
	double *values[NR_DENSE], *variances[NR_DENSE];
};

/* Makes the table of a result whose runs, options and counts are set. The caller releases it; runs must outlive it. */
void dense_make(const struct gate_result *result, struct dense *dense);
void dense_release(struct dense *dense);

/* The nr_runs values of a row. */
const double *dense_row(const struct dense *dense, enum dense_measure measure, size_t row);
/* The sum of nr_runs values over the columns of a side. */
double dense_sum(const struct dense *dense, const double *values, enum run_side side);
/* The sampling variance of a row over its value. */
double dense_weight(const struct dense *dense, enum dense_measure measure, size_t row);

#endif
