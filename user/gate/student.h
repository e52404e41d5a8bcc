/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Student's t distribution: tails and quantiles, for a test on few replicates; and the polygamma functions, which
 * fit a prior to variances (gate/stats.h).
 *
 * Alternative rejected: GSL, which is under the GPL.
 *
 * Source: NIST DLMF 8.17 (incomplete beta), 5.11 and 5.15 (polygamma); the unit test's reference
 * values are mpmath's.
 */
#ifndef CPROF_GATE_STUDENT_H
#define CPROF_GATE_STUDENT_H

/* I_x(a, b), regularized; 0 <= x <= 1, a and b positive. About 13 digits for a, b below 10^4. */
double incomplete_beta(double x, double a, double b);

/* P(T > t) of df degrees of freedom (positive; INFINITY: the normal distribution). */
double student_upper(double t, double df);
/* The t for which P(T > t) = upper, 0 < upper < 1. */
double student_quantile(double upper, double df);

/* The first and second derivative of log gamma, for positive x. */
double digamma(double x);
double trigamma(double x);
/* The x > 0 with trigamma(x) = y, y > 0. */
double trigamma_inverse(double y);

#endif
