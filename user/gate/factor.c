// SPDX-License-Identifier: BSD-2-Clause
/*
 * The weighted median is taken twice with one function: of the standard deviations, which gives
 * the largest weight that a function may have, and then of the logarithms of the ratios.
 */
#include "gate/factor.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

struct ratio {
	double value; /* what they are ordered by: the log, or its standard deviation */
	double log, sd, weight;
};

static int compare_ratios(const void *left, const void *right)
{
	const struct ratio *a = left, *b = right;

	return (a->value > b->value) - (a->value < b->value);
}

/* The weighted median: half of the weight lies on either side. Sorts its input. */
static double weighted_median(struct ratio *ratios, size_t nr)
{
	double all = 0, below = 0;

	qsort(ratios, nr, sizeof(*ratios), compare_ratios);
	for (size_t i = 0; i < nr; i++)
		all += ratios[i].weight;
	for (size_t i = 0; i + 1 < nr; i++) {
		below += ratios[i].weight;
		if (fabs(2 * below - all) <= 1e-9 * all)
			return (ratios[i].value + ratios[i + 1].value) / 2;
		if (2 * below > all)
			return ratios[i].value;
	}
	return ratios[nr - 1].value;
}

static size_t collect_ratios(const struct stats_runs *runs, const struct stats_unit *units,
			     size_t nr_units, const struct stats_fit *fit, struct ratio *ratios)
{
	size_t nr = 0;

	for (size_t i = 0; i < nr_units; i++) {
		double variance[2], rate[2], sd;

		for (int head = 0; head < 2; head++)
			rate[head] = stats_rate(runs, &units[i], fit, head, &variance[head]);
		if (!(rate[0] > 0) || !(rate[1] > 0))
			continue;
		sd = sqrt(variance[0] / (rate[0] * rate[0]) + variance[1] / (rate[1] * rate[1]));
		if (!(sd > 0) || isinf(sd))
			continue;
		ratios[nr++] = (struct ratio){.log = log(rate[1] / rate[0]), .sd = sd, .weight = 1};
	}
	return nr;
}

/* No function counts for more than the median one. */
static void weigh(struct ratio *ratios, size_t nr)
{
	double sd;

	for (size_t i = 0; i < nr; i++)
		ratios[i].value = ratios[i].sd;
	sd = weighted_median(ratios, nr);
	for (size_t i = 0; i < nr; i++)
		ratios[i].weight = fmin(1, sd / ratios[i].sd);
}

static double variance_of(const struct ratio *ratios, size_t nr)
{
	double squares = 0, density = 0;

	for (size_t i = 0; i < nr; i++) {
		squares += ratios[i].weight * ratios[i].weight;
		density += ratios[i].weight / ratios[i].sd;
	}
	return M_PI / 2 * squares / (density * density);
}

void factor_estimate(const struct stats_runs *runs, const struct stats_unit *units, size_t nr_units,
		     const struct stats_fit *fit, struct factor *factor)
{
	struct ratio *ratios scoped(freep) = xcalloc(nr_units, sizeof(*ratios));
	size_t nr = collect_ratios(runs, units, nr_units, fit, ratios);

	*factor = (struct factor){0};
	if (nr < FACTOR_LEAST_FUNCTIONS)
		return;
	weigh(ratios, nr);
	for (size_t i = 0; i < nr; i++)
		ratios[i].value = ratios[i].log;
	factor->is_known = true;
	factor->log = weighted_median(ratios, nr);
	factor->variance = variance_of(ratios, nr);
}
