/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A quasi-likelihood test that tells growth of units (functions) from the variation between runs, for many units,
 * each measured in a few runs per side.
 *
 * Why simpler tests fail: in simulated comparisons of a program with itself, a threshold on shares raises a false
 * alarm every time, and a test that knows only the sampling noise more than half of the time, since runs vary by
 * more than that. Mann-Whitney on five replicates cannot reach the levels that hundreds of functions require.
 * Welch's test can, but wastes most of its power on estimating each variance from eight degrees of freedom.
 *
 * The model: unit f has the value y in run r, whose total is T (for shares; T = 1 for absolute values). y varies
 * around its expectation m = rate * T with the variance
 *
 *	V(m) = S + (m c (1 - share))^2
 *
 * S is the sampling variance. A sample that stands for w counts as Poisson: S = w m; for a share, whose T varies
 * with it, S = (1 - s)^2 w m + s^2 (w_all T - w m), which is the binomial w T s (1 - s) if all samples
 * weigh the same. c is the coefficient of variation between runs, one estimate for all units. (A share near 1
 * cannot vary, hence 1 - share; this factor is 1 for an absolute value.)
 *
 * The dispersion phi of a unit is the variation that V does not explain: Pearson's X^2 / df, from residuals around each side's
 * own rate, df = runs - 2. c is chosen so that the median of X^2 is that of chi^2 (so that a few
 * units with large variation do not affect the others). Then phi is squeezed toward a prior phi_0 that counts as d_0 degrees
 * of freedom, both from the moments of log phi over all units:
 *
 *	phi' = max(phi, (d_0 phi_0 + df phi) / (d_0 + df))
 *
 * The dispersion is only raised: real programs have functions that run in bursts (interrupts, garbage collection,
 * writeback), whose own dispersion describes them better than that of all the steady ones; DESeq2 does not shrink
 * such outliers either. This costs little power and removes their false alarms. d_0 is at most df: variation that
 * all units share (a slower machine) is not better known because there are many units. The variance never falls below S. Then t = (rate_head - rate_base) / se has
 * d_0 + df degrees of freedom, where se assumes no difference (a pooled rate); the confidence
 * interval uses each side's own rate.
 *
 * Within a side, shares are of the run's total. Between the sides, the totals of the head are scaled by the size
 * factor (gate/factor.h), so that the change of one function does not affect the others. The compared values are
 * then no longer parts of one whole: the variance is V with S = w m and without 1 - share, plus that of the
 * factor, (rate)^2 Var(log factor).
 *
 * Sources: McCullagh and Nelder, Generalized Linear Models (1989), ch. 9 (quasi-likelihood); Smyth,
 * Linear models and empirical Bayes methods (2004) (the squeeze); Lund, Nettleton, McCarthy, Smyth,
 * Detecting differential expression in RNA-sequence data using quasi-likelihood (2012) (both, with a
 * trend as V is one); Love, Huber, Anders, Moderated estimation of fold change and dispersion for
 * RNA-seq data with DESeq2 (2014) (outliers); Holm, A simple sequentially rejective multiple test
 * procedure (1979).
 */
#ifndef CPROF_GATE_STATS_H
#define CPROF_GATE_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* The runs; the first nr_base ones are those of the base. */
struct stats_runs {
	size_t nr_base, nr_head;
	const double *totals; /* T, positive; NULL: absolute values */
	double weight; /* w_all: a run's sampling variance over its total; with totals only */
	/* The head's totals are scaled by a size factor that was estimated with this variance of its
	 * logarithm. stats_fit() takes unscaled totals. */
	bool is_scaled;
	double factor_variance;
};

struct stats_unit {
	const double *values; /* of each run, not negative; borrowed */
	double weight;	      /* w: its sampling variance over its value; 0: nothing was sampled */
	double dispersion;    /* phi, then phi'; set by stats_fit() */
};

/* What is common to all units. */
struct stats_fit {
	double cv;			       /* c */
	double prior_dispersion, prior_df, df; /* phi_0, d_0, d_0 + df */
	double ci_t;			       /* of df, for the confidence intervals */
};

/*
 * Fits cv, prior and every unit's dispersion. There are at least two runs per side. A single unit has
 * no prior.
 */
void stats_fit(const struct stats_runs *runs, struct stats_unit *units, size_t nr_units,
	       struct stats_fit *fit);
/*
 * For runs without replicates: assumes cv, a dispersion of 1, and the normal distribution instead of t.
 */
void stats_assume(struct stats_unit *units, size_t nr_units, double cv, struct stats_fit *fit);

/* The dispersion of a further unit by a fit of others; runs as they were fitted. */
void stats_fit_unit(const struct stats_runs *runs, struct stats_unit *unit,
		    const struct stats_fit *fit);

struct stats_test {
	double base, head;	  /* rates: shares, or means of a run */
	double p_grown, p_shrunk; /* one-sided */
	double ci_low, ci_high;	  /* of head - base, 95 %, for this unit alone */
};

/* Tests one unit whose dispersion is set. Both rates 0 is no difference: p is 1/2. */
void stats_compare(const struct stats_runs *runs, const struct stats_unit *unit,
		   const struct stats_fit *fit, struct stats_test *test);

/* The rate of a side, and its variance by S = w m, regardless of the rest of the run. */
double stats_rate(const struct stats_runs *runs, const struct stats_unit *unit,
		  const struct stats_fit *fit, bool head, double *variance);

/*
 * stats_reach(): the number of standard errors by which a unit must grow to be significant at a level (one-sided,
 * > 0) with a probability (power). stats_detectable(): the smallest growth, at this reach, of a unit with this rate
 * in base.
 */
double stats_reach(const struct stats_fit *fit, double level, double power);
double stats_detectable(const struct stats_runs *runs, const struct stats_unit *unit,
			const struct stats_fit *fit, double base, double reach);

/* Adjusts p values in place (Holm), so that each can be compared with the level of the whole family. */
void stats_holm(double *p, size_t nr);

#endif
