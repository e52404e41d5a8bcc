/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A quasi-likelihood test of whether units (functions) grew or the runs just differ, for many units, each
 * measured in a few runs of either side.
 *
 * Why it takes all of this: in simulated comparisons of a program with itself, a threshold on shares
 * flags something every single time, and a test that knows only the sampling noise more than half of
 * the time, since runs differ by more than that. Mann-Whitney on five replicates cannot reach the
 * levels that hundreds of functions ask for; Welch's test can but wastes most of its power on
 * estimating each variance from eight degrees of freedom.
 *
 * The model. Unit f has in run r the value y, of what the run has in all, T (a share), or of one run
 * (T = 1, an absolute value). Around its expectation m = rate * T it varies by
 *
 *	V(m) = S + (m c (1 - share))^2
 *
 * S: sampling. A sample that stands for w counts as Poisson: S = w m; for a share, whose T varies with
 * it, S = (1 - s)^2 w m + s^2 (w_all T - w m), which is the binomial w T s (1 - s) where all samples
 * weigh the same. c: the coefficient of variation between runs, one for all units, estimated. (A
 * share near 1 cannot vary: hence 1 - share; 1 for an absolute value.)
 *
 * What V misses of a unit is its dispersion phi: Pearson's X^2 / df, from residuals around each side's
 * own rate, df = runs - 2. c is chosen so that the median of X^2 is that of chi^2 (a few restless units
 * do not spoil it for the others). Then phi is squeezed toward a prior phi_0 that counts as d_0 degrees
 * of freedom, both from the moments of log phi over all units:
 *
 *	phi' = max(phi, (d_0 phi_0 + df phi) / (d_0 + df))
 *
 * Only upward: real programs have functions that come in bursts (interrupts, garbage collection,
 * writeback), whose own dispersion says more about them than all the steady ones do; DESeq2 leaves such
 * outliers alone, too. It costs little power, and the false alarms that they gave without it.
 * d_0 is at most df: what all units share (a slower machine) does not become better known by there
 * being many units. The variance never falls below S. Then t = (rate_head - rate_base) / se has
 * d_0 + df degrees of freedom, se being that of no difference (the rate pooled); the confidence
 * interval takes each side's own.
 *
 * Shares of what? Of its run, within a side. Between the sides the totals of the head are scaled by
 * the size factor (gate/factor.h), so that what one function does moves no other. The difference is
 * then no longer one of parts of a whole: its variance is V with S = w m and without 1 - share, and the
 * factor's own variance besides, (rate)^2 Var(log factor).
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

/* Of each run: the first nr_base ones are of the base. */
struct stats_runs {
	size_t nr_base, nr_head;
	const double *totals; /* T, positive; NULL: absolute values */
	double weight; /* w_all: a run's sampling variance over its total; with totals only */
	/* The head's totals are scaled by a size factor that was estimated with this variance of its
	 * logarithm. stats_fit() wants totals as they are. */
	bool is_scaled;
	double factor_variance;
};

struct stats_unit {
	const double *values; /* of each run, not negative; borrowed */
	double weight;	      /* w: its sampling variance over its value, 0: nothing was sampled */
	double dispersion;    /* phi, then phi'; set by stats_fit() */
};

/* What is common to all units. */
struct stats_fit {
	double cv;			       /* c */
	double prior_dispersion, prior_df, df; /* phi_0, d_0, d_0 + df */
	double ci_t;			       /* of df, for the confidence intervals */
};

/*
 * Fits cv, prior and every unit's dispersion. At least two runs a side. A single unit has nothing to
 * be squeezed to.
 */
void stats_fit(const struct stats_runs *runs, struct stats_unit *units, size_t nr_units,
	       struct stats_fit *fit);
/*
 * Without replicates: cv is assumed, the dispersion is 1, and the normal distribution stands in for
 * t. No more than a guess.
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

/* The rate of a side, and its variance with no regard to the rest of the run: that of S = w m. */
double stats_rate(const struct stats_runs *runs, const struct stats_unit *unit,
		  const struct stats_fit *fit, bool head, double *variance);

/*
 * The smallest growth of a unit with this rate in base that the comparison could have seen. reach:
 * how many standard errors that takes, stats_reach() of the level (one-sided, > 0) at which it must be
 * significant and of the probability (power) that it is.
 */
double stats_reach(const struct stats_fit *fit, double level, double power);
double stats_detectable(const struct stats_runs *runs, const struct stats_unit *unit,
			const struct stats_fit *fit, double base, double reach);

/* Adjusts p values in place so that each can be held against the level of all of them (Holm). */
void stats_holm(double *p, size_t nr);

#endif
