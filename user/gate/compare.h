/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the statistical tests of a comparison: selects the functions with enough weight, makes units of
 * them (one value per run), fits, compares, adjusts. Fills tests (except their outcomes), cv, factor and
 * detectable_* of a result whose runs, options and counts are set, and which was not refused.
 *
 * The intermediate tables are kept for the search for moved cost (gate/moved.h).
 */
#ifndef CPROF_GATE_COMPARE_H
#define CPROF_GATE_COMPARE_H

#include "gate/dense.h"
#include "gate/stats.h"
#include "gate/verdict.h"

#define NR_FAMILIES 5

/* The units of one measure and quantity, and their functions. */
struct family {
	enum gate_measure measure;
	enum gate_quantity quantity;
	struct stats_runs runs; /* as fitted, then as compared */
	struct stats_fit fit;
	vec_of(struct stats_unit) units;
	vec_of(size_t) rows; /* of dense; of the total: 0 */
	size_t first;	     /* position of its tests in those of the result */
};

struct comparison {
	struct gate_result *result;
	struct dense dense;
	double *scaled; /* totals by column, the head's scaled by the factor */
	struct family families[NR_FAMILIES];
	size_t nr_first; /* number of tests that are adjusted together; the others follow if the total changed */
};

/* The caller releases it; the result must outlive it. */
void comparison_make(struct gate_result *result, struct comparison *comparison);
/* The level at which a single test of a family must be significant, given their number (Bonferroni). */
double comparison_level(const struct comparison *comparison, const struct family *family);
void comparison_release(struct comparison *comparison);

#endif
