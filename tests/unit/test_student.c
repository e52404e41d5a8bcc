// SPDX-License-Identifier: BSD-2-Clause
/*
 * gate/student: against mpmath 1.3.0 at 30 digits: betainc(a, b, 0, x, regularized=True), the tail of
 * t as betainc(df/2, 1/2, 0, df/(df+t^2))/2, its inverse by findroot, psi(0, x), psi(1, x), erfc.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "gate/student.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void assert_near(double got, double expected, double tolerance)
{
	if (!(fabs(got - expected) <= tolerance * fabs(expected)))
		fail_msg("%.17g is not %.17g", got, expected);
}

static void test_incomplete_beta(void **state)
{
	static const struct {
		double x, a, b, value;
	} cases[] = {
		{0.3, 2, 5, 0.57982499999999998},
		{0.001, 0.5, 0.5, 0.020135041633377491},
		{0.999, 0.5, 40, 1.0},
		{0.5, 100, 100, 0.5},
		{0.02, 4, 0.5, 4.410443847260075e-8},
		{0.7, 0.5, 4, 0.99745562538359319},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_near(incomplete_beta(cases[i].x, cases[i].a, cases[i].b), cases[i].value,
			    1e-12);
	assert_true(incomplete_beta(0, 2, 3) == 0 && incomplete_beta(1, 2, 3) == 1);
}

static void test_student(void **state)
{
	static const struct {
		double t, df, upper;
	} cases[] = {
		{0, 3, 0.5},
		{0.1, 1, 0.46827448256944643},
		{1, 2, 0.21132486540518712},
		{2.5, 8, 0.018471018856812052},
		{-1.3, 5, 0.87484968291466139},
		{6, 16, 9.2610664354529023e-6},
		{12, 4, 0.00013821427425148648},
		{3.3, 30.5, 0.001233757142090448},
		{40, 16, 9.1078807718864943e-18},
		{5, 1000, 3.3836281823243152e-7},
		{5, INFINITY, 2.8665157187919391e-7},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_near(student_upper(cases[i].t, cases[i].df), cases[i].upper, 1e-12);
}

static void test_quantiles(void **state)
{
	static const struct {
		double upper, df, t;
	} cases[] = {
		{0.025, 8, 2.3060041352041666},	      {0.0005, 16, 4.0149963271840555},
		{0.05, 2, 2.9199855803537256},	      {0.2, 8, 0.88888951776701975},
		{1e-6, 4, 41.577854150450975},	      {0.9, 3, -1.6377443536962103},
		{0.025, INFINITY, 1.959963984540054},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_near(student_quantile(cases[i].upper, cases[i].df), cases[i].t, 1e-12);
}

static void test_polygamma(void **state)
{
	static const struct {
		double x, digamma, trigamma;
	} cases[] = {
		{0.05, -20.497844991299869, 401.53235734211507},
		{0.5, -1.9635100260214235, 4.9348022005446793},
		{1, -0.57721566490153286, 1.6449340668482264},
		{4, 1.2561176684318005, 0.28382295573711533},
		{8, 2.01564147795561, 0.13313701469403143},
		{37.5, 3.6109483445963384, 0.027025382266785014},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		assert_near(digamma(cases[i].x), cases[i].digamma, 1e-12);
		assert_near(trigamma(cases[i].x), cases[i].trigamma, 1e-12);
		assert_near(trigamma_inverse(cases[i].trigamma), cases[i].x, 1e-10);
	}
	assert_near(trigamma(trigamma_inverse(1e-6)), 1e-6, 1e-10);
	assert_near(trigamma(trigamma_inverse(1e6)), 1e6, 1e-10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_incomplete_beta),
		cmocka_unit_test(test_student),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_polygamma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
