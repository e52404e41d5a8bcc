// SPDX-License-Identifier: BSD-2-Clause
/*
 * The model is in the header; here are its steps in order: rates, variances, Pearson's X^2, the
 * coefficient of variation by bisection (X^2 falls as it grows), the prior by moments, the
 * squeeze, and the tests. No unit's fit depends on the order of units, and all of it takes time
 * linear in their number.
 */
#include "gate/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "gate/student.h"

#define MAX_CV	     4.0  /* beyond it nothing can be said anyway */
#define LEAST_CV     1e-6 /* what is exactly equal in all runs may differ by that much */
#define CI_TAIL	     0.025
#define NR_BISECTION 32
#define MAX_ROUNDS   100

static size_t nr_runs(const struct stats_runs *runs)
{
	return runs->nr_base + runs->nr_head;
}

static double total_of(const struct stats_runs *runs, size_t run)
{
	return runs->totals ? runs->totals[run] : 1;
}

struct side {
	size_t first, end;
};

static struct side side_of(const struct stats_runs *runs, bool head)
{
	return head ? (struct side){runs->nr_base, nr_runs(runs)} : (struct side){0, runs->nr_base};
}

static double sum_of_totals(const struct stats_runs *runs, struct side side)
{
	double sum = 0;

	for (size_t i = side.first; i < side.end; i++)
		sum += total_of(runs, i);
	return sum;
}

static double rate_of(const struct stats_runs *runs, const struct stats_unit *unit,
		      struct side side)
{
	double sum = 0;

	for (size_t i = side.first; i < side.end; i++)
		sum += unit->values[i];
	return sum / sum_of_totals(runs, side);
}

/* Is the value a part of its run's, which varies with it? */
static bool is_part(const struct stats_runs *runs)
{
	return runs->totals && !runs->is_scaled;
}

/* S of a run, at this rate. */
static double sampling_variance(const struct stats_runs *runs, const struct stats_unit *unit,
				double rate, size_t run)
{
	double total = total_of(runs, run), own = unit->weight * rate * total, others;

	if (!is_part(runs))
		return own;
	others = runs->weight * total - own;
	return (1 - rate) * (1 - rate) * own + rate * rate * (others > 0 ? others : 0);
}

/* The part of V that is between runs. */
static double jitter_variance(const struct stats_runs *runs, double rate, size_t run, double cv)
{
	double mean = rate * total_of(runs, run), still = is_part(runs) ? 1 - rate : 1;
	double sd = mean * still * cv, least = mean * LEAST_CV;

	return sd * sd + least * least;
}

/* X^2 of a unit whose rates are given. */
static double pearson(const struct stats_runs *runs, const struct stats_unit *unit,
		      const double rates[2], double cv)
{
	double sum = 0;

	for (size_t i = 0; i < nr_runs(runs); i++) {
		double rate = rates[i >= runs->nr_base];
		double residual = unit->values[i] - rate * total_of(runs, i);

		if (rate > 0)
			sum += residual * residual /
			       (sampling_variance(runs, unit, rate, i) +
				jitter_variance(runs, rate, i, cv));
	}
	return sum;
}

/* Wilson and Hilferty's; good to 1 % from one degree of freedom on. */
static double chi2_median(double df)
{
	double root = 1 - 2 / (9 * df);

	return df * root * root * root;
}

struct fitting {
	const struct stats_runs *runs;
	const struct stats_unit *units;
	size_t nr_units;
	double (*rates)[2];
	double df;
};

/*
 * Whether the median of X^2 is above wanted. Counting tells, without sorting; where as many are above as are not, it is
 * between the two in the middle.
 */
static bool is_typical_above(const struct fitting *fitting, double cv, double wanted)
{
	double below = -INFINITY, above = INFINITY;
	size_t nr_above = 0, nr = fitting->nr_units;

	for (size_t i = 0; i < nr; i++) {
		double x2 = pearson(fitting->runs, &fitting->units[i], fitting->rates[i], cv);

		if (x2 > wanted) {
			nr_above++;
			above = fmin(above, x2);
		} else {
			below = fmax(below, x2);
		}
	}
	return 2 * nr_above == nr ? (below + above) / 2 > wanted : 2 * nr_above > nr;
}

/* The larger cv, the smaller X^2: bisect. 0 where sampling alone explains it all. */
static double fit_cv(const struct fitting *fitting)
{
	double wanted = fitting->nr_units > 1 ? chi2_median(fitting->df) : fitting->df;
	double low = 0, high = MAX_CV;

	if (!is_typical_above(fitting, 0, wanted))
		return 0;
	for (int i = 0; i < NR_BISECTION; i++) {
		double middle = (low + high) / 2;

		if (is_typical_above(fitting, middle, wanted))
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/*
 * Smyth's moments: the log of a dispersion with df degrees of freedom scatters around the log of its
 * prior by trigamma(df / 2); what it scatters more is the prior's own trigamma(d_0 / 2).
 */
static void fit_prior(const struct stats_unit *units, size_t nr, double df, struct stats_fit *fit)
{
	double mean = 0, mean_log = 0, excess = 0, least;

	*fit = (struct stats_fit){.cv = fit->cv, .prior_dispersion = 1, .df = df};
	if (nr < 3)
		return;
	for (size_t i = 0; i < nr; i++)
		mean += units[i].dispersion / nr;
	least = fmax(mean * 1e-5, 1e-300); /* a dispersion of 0 has no logarithm */
	for (size_t i = 0; i < nr; i++)
		mean_log += log(fmax(units[i].dispersion, least)) / nr;
	for (size_t i = 0; i < nr; i++) {
		double off = log(fmax(units[i].dispersion, least)) - mean_log;

		excess += off * off / (nr - 1);
	}
	excess -= trigamma(df / 2);
	mean_log += log(df / 2) - digamma(df / 2);
	fit->prior_df = INFINITY;
	fit->prior_dispersion = mean;
	if (excess > 0) {
		fit->prior_df = 2 * trigamma_inverse(excess);
		fit->prior_dispersion =
			exp(mean_log + digamma(fit->prior_df / 2) - log(fit->prior_df / 2));
	}
	fit->prior_df = fmin(fit->prior_df, df);
	fit->df = fit->prior_df + df;
}

/* Only upward: what is restless by itself stays so. */
static double squeeze(double dispersion, double df, const struct stats_fit *fit)
{
	return fmax(dispersion,
		    (fit->prior_df * fit->prior_dispersion + df * dispersion) / fit->df);
}

void stats_fit(const struct stats_runs *runs, struct stats_unit *units, size_t nr_units,
	       struct stats_fit *fit)
{
	double(*rates)[2] scoped(freep) = xcalloc(nr_units, sizeof(*rates));
	double df = (double)nr_runs(runs) - 2;
	struct fitting fitting = {runs, units, nr_units, rates, df};

	*fit = (struct stats_fit){.prior_dispersion = 1, .df = df};
	if (!nr_units)
		return;
	for (size_t i = 0; i < nr_units; i++)
		for (int head = 0; head < 2; head++)
			rates[i][head] = rate_of(runs, &units[i], side_of(runs, head));
	fit->cv = fit_cv(&fitting);
	for (size_t i = 0; i < nr_units; i++)
		units[i].dispersion = pearson(runs, &units[i], rates[i], fit->cv) / df;
	fit_prior(units, nr_units, df, fit);
	fit->ci_t = student_quantile(CI_TAIL, fit->df);
	for (size_t i = 0; i < nr_units; i++)
		units[i].dispersion = squeeze(units[i].dispersion, df, fit);
}

void stats_assume(struct stats_unit *units, size_t nr_units, double cv, struct stats_fit *fit)
{
	for (size_t i = 0; i < nr_units; i++)
		units[i].dispersion = 1;
	*fit = (struct stats_fit){.cv = cv, .prior_dispersion = 1, .df = INFINITY};
	fit->ci_t = student_quantile(CI_TAIL, fit->df);
}

void stats_fit_unit(const struct stats_runs *runs, struct stats_unit *unit,
		    const struct stats_fit *fit)
{
	double rates[2], df = (double)nr_runs(runs) - 2;

	unit->dispersion = 1;
	if (isinf(fit->df))
		return; /* assumed */
	for (int head = 0; head < 2; head++)
		rates[head] = rate_of(runs, unit, side_of(runs, head));
	unit->dispersion = squeeze(pearson(runs, unit, rates, fit->cv) / df, df, fit);
}

/* The variance of a side's rate, if the true one is this. */
static double rate_variance(const struct stats_runs *runs, const struct stats_unit *unit,
			    const struct stats_fit *fit, struct side side, double rate)
{
	double sampling = 0, all = 0, total = sum_of_totals(runs, side);

	for (size_t i = side.first; i < side.end; i++) {
		double here = sampling_variance(runs, unit, rate, i);

		sampling += here + jitter_variance(runs, rate, i, 0); /* the least */
		all += here + jitter_variance(runs, rate, i, fit->cv);
	}
	return fmax(unit->dispersion * all, sampling) / (total * total);
}

double stats_rate(const struct stats_runs *runs, const struct stats_unit *unit,
		  const struct stats_fit *fit, bool head, double *variance)
{
	struct stats_runs alone = *runs;
	double rate = rate_of(runs, unit, side_of(runs, head));

	alone.is_scaled = true;
	*variance = rate_variance(&alone, unit, fit, side_of(runs, head), rate);
	return rate;
}

/* The standard error of a difference of two sides with these rates. */
static double standard_error(const struct stats_runs *runs, const struct stats_unit *unit,
			     const struct stats_fit *fit, double base, double head)
{
	double factor = runs->is_scaled ? runs->factor_variance * head * head : 0;

	return sqrt(rate_variance(runs, unit, fit, side_of(runs, false), base) +
		    rate_variance(runs, unit, fit, side_of(runs, true), head) + factor);
}

void stats_compare(const struct stats_runs *runs, const struct stats_unit *unit,
		   const struct stats_fit *fit, struct stats_test *test)
{
	double base = rate_of(runs, unit, side_of(runs, false));
	double head = rate_of(runs, unit, side_of(runs, true));
	double pooled = rate_of(runs, unit, (struct side){0, nr_runs(runs)});
	double null_error = standard_error(runs, unit, fit, pooled, pooled);
	double margin = fit->ci_t * standard_error(runs, unit, fit, base, head);
	double t = head == base ? 0 : (head - base) / null_error;

	*test = (struct stats_test){
		.base = base,
		.head = head,
		.p_grown = student_upper(t, fit->df),
		.p_shrunk = student_upper(-t, fit->df),
		.ci_low = head - base - margin,
		.ci_high = head - base + margin,
	};
}

double stats_reach(const struct stats_fit *fit, double level, double power)
{
	return student_quantile(level, fit->df) + student_quantile(1 - power, fit->df);
}

double stats_detectable(const struct stats_runs *runs, const struct stats_unit *unit,
			const struct stats_fit *fit, double base, double reach)
{
	double growth = 0;

	/* what has grown also varies more: a few rounds settle it, or show that there is no end */
	for (int i = 0; i < MAX_ROUNDS; i++) {
		double before = growth;

		growth = reach * standard_error(runs, unit, fit, base, base + before);
		if (is_part(runs) && base + growth > 1)
			return INFINITY;
		if (growth - before <= 1e-6 * growth)
			return growth;
	}
	return INFINITY;
}

struct ranked {
	double p;
	size_t at;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->p != y->p ? (x->p > y->p) - (x->p < y->p) : (x->at > y->at) - (x->at < y->at);
}

void stats_holm(double *p, size_t nr)
{
	struct ranked *ranked scoped(freep) = xcalloc(nr, sizeof(*ranked));
	double largest = 0;

	for (size_t i = 0; i < nr; i++)
		ranked[i] = (struct ranked){p[i], i};
	qsort(ranked, nr, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < nr; i++) {
		largest = fmax(largest, fmin(1, ranked[i].p * (nr - i)));
		p[ranked[i].at] = largest;
	}
}
