/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Estimates the size factor between the two sides: how much larger the head's runs are by their typical
 * function. Where runs are divided by their totals, all unchanged functions grow when one shrinks. So the totals of the head are scaled by the median,
 * over the functions with weight, of what their shares changed by: the size factor of DESeq (Anders and
 * Huber, Differential expression analysis for sequence count data, 2010). A slower machine or another
 * amount of work is in it, one function's change is not.
 *
 * One factor for the side, not one for each run: runs of one side are of one program, so that within it
 * the total is the better measure of a run's size, with all of its samples. The median is weighted by
 * how exact a function's ratio is, but no function more than the median one, lest a large function
 * decide alone. A function that has nothing on one side has no ratio and is left out.
 *
 * Its variance. The weighted median of n normal variables with the standard deviations s and weights
 * w has (pi/2) sum(w^2) / sum(w/s)^2.
 *
 * Of one or two functions there is no telling which one changed: there is no factor then.
 */
#ifndef CPROF_GATE_FACTOR_H
#define CPROF_GATE_FACTOR_H

#include "gate/stats.h"

#define FACTOR_LEAST_FUNCTIONS 3

struct factor {
	bool is_known;
	double log;	 /* of head's shares over base's; 0 where it is not known */
	double variance; /* of log */
};

/* units: flat values as fitted to runs, each function once. */
void factor_estimate(const struct stats_runs *runs, const struct stats_unit *units, size_t nr_units,
		     const struct stats_fit *fit, struct factor *factor);

#endif
