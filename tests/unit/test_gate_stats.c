// SPDX-License-Identifier: BSD-2-Clause
/* gate/stats: what it comes to where the answer is known by other means. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "gate/stats.h"

static void assert_near(double got, double expected, double tolerance)
{
	if (!(fabs(got - expected) <= tolerance * fabs(expected)))
		fail_msg("%.10g is not %.10g", got, expected);
}

/* One unit of absolute values and no sampling noise is Student's test with a common variance factor. */
static void test_is_students_test(void **state)
{
	static const double values[] = {100, 102, 98, 101, 99, 110, 112, 108, 111, 109};
	const struct stats_runs runs = {.nr_base = 5, .nr_head = 5};
	struct stats_unit unit = {.values = values};
	struct stats_fit fit;
	struct stats_test test;

	(void)state;
	stats_fit(&runs, &unit, 1, &fit);
	stats_compare(&runs, &unit, &fit, &test);
	assert_near(test.base, 100, 1e-12);
	assert_near(test.head, 110, 1e-12);
	assert_near(fit.df, 8, 1e-12);
	/*
	 * Sums of squares 10 and 10, relative to the means: cv^2 = (10/100^2 + 10/110^2) / 8. At the
	 * pooled mean 105: t = 10 / (105 cv sqrt(2/5)) = 9.966; its tail by mpmath.
	 */
	assert_near(fit.cv, sqrt((10 / 1e4 + 10 / 1.21e4) / 8), 1e-6);
	assert_near(test.p_grown, 4.35326427589193e-6, 1e-5);
	assert_near(test.p_grown + test.p_shrunk, 1, 1e-12);
	/* 2.306 (t of 8, 97.5 %) standard errors, at each side's own mean */
	assert_near((test.ci_high - test.ci_low) / 2,
		    2.3060041352 * fit.cv * sqrt((1e4 + 1.21e4) / 5), 1e-6);
	assert_near((test.ci_high + test.ci_low) / 2, 10, 1e-9);
}

/* Counts that scatter as a binomial does, and no more: the two-proportion z score, if not its tail. */
static void test_is_the_binomial(void **state)
{
	static const double totals[] = {1000, 1000, 1000, 1000};
	static const double values[] = {100, 100, 130, 130};
	const struct stats_runs runs = {.nr_base = 2, .nr_head = 2, .totals = totals, .weight = 1};
	struct stats_unit unit = {.values = values, .weight = 1};
	struct stats_fit fit;
	struct stats_test test;
	double p = 460. / 4000, z = 0.03 / sqrt(p * (1 - p) * 2 / 2000);

	(void)state;
	stats_assume(&unit, 1, 0, &fit); /* the normal distribution */
	stats_compare(&runs, &unit, &fit, &test);
	assert_near(test.p_grown, erfc(z / sqrt(2)) / 2, 1e-6);
	/* replicates that do not scatter at all do not make it any surer */
	stats_fit(&runs, &unit, 1, &fit);
	assert_true(fit.cv == 0);
	stats_compare(&runs, &unit, &fit, &test);
	assert_true(test.p_grown > erfc(z / sqrt(2)) / 2);
}

/* A few large samples are not many small ones: the same shares, a hundred times the weight. */
static void test_weights(void **state)
{
	static const double totals[] = {100000, 100000, 100000, 100000};
	static const double values[] = {10000, 10000, 13000, 13000};
	struct stats_runs runs = {.nr_base = 2, .nr_head = 2, .totals = totals, .weight = 1};
	struct stats_unit light = {.values = values, .weight = 1};
	struct stats_fit fit;
	struct stats_test test;

	(void)state;
	stats_assume(&light, 1, 0, &fit);
	stats_compare(&runs, &light, &fit, &test);
	assert_true(test.p_grown < 1e-9);
	runs.weight = 109;
	stats_compare(&runs, &(struct stats_unit){values, 1000, 1}, &fit, &test);
	assert_true(test.p_grown > 0.01);
}

static void test_equal_is_equal(void **state)
{
	static const double values[] = {7, 7, 7, 7}, more[] = {7, 7, 8, 8};
	const struct stats_runs runs = {.nr_base = 2, .nr_head = 2};
	struct stats_unit units[] = {{.values = values}, {.values = more}};
	struct stats_fit fit;
	struct stats_test test;

	(void)state;
	stats_fit(&runs, units, 2, &fit);
	stats_compare(&runs, &units[0], &fit, &test);
	assert_true(test.p_grown == 0.5 && test.ci_low <= 0 && test.ci_high >= 0);
	assert_true(stats_detectable(&runs, &units[0], &fit, 7, stats_reach(&fit, 0.01, 0.8)) <
		    1e-3);
	stats_compare(&runs, &units[1], &fit, &test);
	assert_true(test.p_grown < 1e-3);
}

/* A restless unit is squeezed, and so is a quiet one; neither becomes the other. */
static void test_squeeze(void **state)
{
	enum {
		NR = 12
	};
	double values[NR][6];
	struct stats_unit units[NR];
	const struct stats_runs runs = {.nr_base = 3, .nr_head = 3};
	struct stats_fit fit;

	(void)state;
	for (int i = 0; i < NR; i++) {
		double off = i ? 2 + 0.2 * i : 30;

		for (int j = 0; j < 6; j++)
			values[i][j] = 100 + (j % 3 - 1) * off;
		units[i] = (struct stats_unit){.values = values[i]};
	}
	stats_fit(&runs, units, NR, &fit);
	assert_true(fit.df > 4 && fit.df <= 8); /* the prior counts no more than the replicates */
	assert_true(units[0].dispersion > 10 * units[NR - 1].dispersion);
	assert_true(units[1].dispersion > 0.1);
}

/* The figure of the literature: 5 % of 10,000 samples, alpha 0.05/100, power 0.8: some 1.3 to 1.4 points. */
static void test_detectable(void **state)
{
	static const double totals[] = {5000, 5000, 5000, 5000}, values[] = {250, 250, 250, 250};
	const struct stats_runs runs = {.nr_base = 2, .nr_head = 2, .totals = totals, .weight = 1};
	struct stats_unit unit = {.values = values, .weight = 1};
	struct stats_fit fit;
	double growth;

	(void)state;
	stats_assume(&unit, 1, 0, &fit);
	growth = stats_detectable(&runs, &unit, &fit, 0.05, stats_reach(&fit, 0.05 / 100, 0.8));
	assert_true(growth > 0.0125 && growth < 0.0145);
	/* more than there can be */
	assert_true(isinf(stats_detectable(&runs, &unit, &fit, 0.05, 1000)));
}

/* Holm's own steps, by hand. */
static void test_holm(void **state)
{
	double p[] = {0.04, 0.01, 0.03, 0.005}, one[] = {0.9, 0.8};

	(void)state;
	stats_holm(p, 4);
	assert_near(p[3], 0.02, 1e-12);
	assert_near(p[1], 0.03, 1e-12);
	assert_near(p[2], 0.06, 1e-12);
	assert_near(p[0], 0.06, 1e-12); /* not less than the one before */
	stats_holm(one, 2);
	assert_true(one[0] == 1 && one[1] == 1);
	stats_holm(one, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_students_test),
		cmocka_unit_test(test_is_the_binomial),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_equal_is_equal),
		cmocka_unit_test(test_squeeze),
		cmocka_unit_test(test_detectable),
		cmocka_unit_test(test_holm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
