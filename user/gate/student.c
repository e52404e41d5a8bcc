// SPDX-License-Identifier: BSD-2-Clause
/*
 * The incomplete beta function is a continued fraction, evaluated from the front (modified Lentz)
 * on the side where it converges fast. Quantiles and the inverse trigamma are bisections: their
 * functions are monotonic and called a few times for each comparison, so that Newton's method
 * would gain nothing.
 */
#include "gate/student.h"

#include <float.h>
#include <math.h>

#define MAX_TERMS 1000
#define CONVERGED (32 * DBL_EPSILON) /* rounding alone keeps steps a few of them from 1 */

/* A denominator of a continued fraction must not be 0: any tiny number does (modified Lentz). */
static double not_zero(double x)
{
	return fabs(x) < DBL_MIN / DBL_EPSILON ? DBL_MIN / DBL_EPSILON : x;
}

/* The continued fraction of DLMF 8.17.22; converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), value = d;

	for (int m = 1; m < MAX_TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		value *= c * d;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		step = c * d;
		value *= step;
		if (fabs(step - 1) < CONVERGED)
			break;
	}
	return value;
}

/* lgamma() keeps the sign in a global: the reentrant one does not. */
static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

double incomplete_beta(double x, double a, double b)
{
	double front;

	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double student_upper(double t, double df)
{
	double tail;

	if (t < 0)
		return 1 - student_upper(-t, df);
	if (isinf(df))
		return erfc(t / M_SQRT2) / 2;
	/* of the two equal forms, the one whose argument keeps its digits */
	if (t * t < 1)
		tail = 1 - incomplete_beta(t * t / (df + t * t), 0.5, df / 2);
	else
		tail = incomplete_beta(df / (df + t * t), df / 2, 0.5);
	return tail / 2;
}

double student_quantile(double upper, double df)
{
	double low = 0, high = 1;

	if (upper > 0.5)
		return -student_quantile(1 - upper, df);
	while (student_upper(high, df) > upper && high < 1e300)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
		double middle = (low + high) / 2;

		if (student_upper(middle, df) > upper)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* Both: step up by the recurrence until the asymptotic series (DLMF 5.11.2, 5.15.8) is exact. */
double digamma(double x)
{
	double sum = 0, y;

	for (; x < 10; x++)
		sum -= 1 / x;
	y = 1 / (x * x);
	return sum + log(x) - 0.5 / x -
	       y * (1. / 12 -
		    y * (1. / 120 -
			 y * (1. / 252 - y * (1. / 240 - y * (1. / 132 - y * 691. / 32760)))));
}

double trigamma(double x)
{
	double sum = 0, y;

	for (; x < 10; x++)
		sum += 1 / (x * x);
	y = 1 / (x * x);
	return sum + 1 / x + y / 2 +
	       y / x *
		       (1. / 6 -
			y * (1. / 30 -
			     y * (1. / 42 - y * (1. / 30 - y * (5. / 66 - y * 691. / 2730)))));
}

double trigamma_inverse(double y)
{
	/* between 1/x and 1/x + 1/x^2 lies trigamma(x), and it falls: bisect on a log scale */
	double low = 1 / y / 2, high = 1 / y + 1 / sqrt(y) + 1;

	for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
		double middle = sqrt(low * high);

		if (trigamma(middle) > y)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}
