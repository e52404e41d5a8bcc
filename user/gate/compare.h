/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the statistical tests of a comparison: selects functions with weight, makes units of them (dense:
 * one value for each run), fits, compares, adjusts. Fills tests (but for their outcomes), cv, factor and
 * detectable_* of a result whose runs, options and counts are set, and that was not refused.
 *
 * The intermediate tables stay, for further questions (gate/moved.h).
 */
#ifndef CPROF_GATE_COMPARE_H
#define CPROF_GATE_COMPARE_H

#include "gate/dense.h"
#include "gate/stats.h"
#include "gate/verdict.h"

#define NR_FAMILIES 5

/* Units of one measure and quantity, and whose they are. */
struct family {
	enum gate_measure measure;
	enum gate_quantity quantity;
	struct stats_runs runs; /* as they were fitted, then as they are compared */
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
	size_t nr_first; /* of the tests: they are adjusted together, the others once the total is */
};

/* The caller releases it; the result must outlive it. */
void comparison_make(struct gate_result *result, struct comparison *comparison);
/* The level at which one test of a family must be significant, as many being tested (Bonferroni). */
double comparison_level(const struct comparison *comparison, const struct family *family);
void comparison_release(struct comparison *comparison);

#endif
