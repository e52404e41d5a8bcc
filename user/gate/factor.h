/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Estimates the size factor between the two sides: how much larger the head's runs are by their typical
 * function.
 *
 * If runs are divided by their totals, all unchanged functions grow when one shrinks. So the totals of the head
 * are scaled by the median, over the functions with enough weight, of the change of their shares: the size
 * factor of DESeq (Anders and Huber, Differential expression analysis for sequence count data, 2010). It cancels
 * a slower machine or another amount of work, but not the change of one function.
 *
 * There is one factor per side, not one per run: the runs of a side are of one program, so that their totals, with
 * all of their samples, measure their sizes better. The median is weighted by the precision of each function's
 * ratio; the weights are limited to the median weight, so that a large function does not decide alone. A function
 * without a value on one side has no ratio and is left out.
 *
 * Its variance: the weighted median of n normal variables with the standard deviations s and weights
 * w has the variance (pi/2) sum(w^2) / sum(w/s)^2.
 *
 * With one or two functions one cannot tell which changed: then there is no factor.
 */
#ifndef CPROF_GATE_FACTOR_H
#define CPROF_GATE_FACTOR_H

#include "gate/stats.h"

#define FACTOR_LEAST_FUNCTIONS 3

struct factor {
	bool is_known;
	double log;	 /* of head's shares over base's; 0 if it is not known */
	double variance; /* of log */
};

/* units: the flat values of each function, as fitted. */
void factor_estimate(const struct stats_runs *runs, const struct stats_unit *units, size_t nr_units,
		     const struct stats_fit *fit, struct factor *factor);

#endif
