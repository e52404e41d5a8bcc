// SPDX-License-Identifier: BSD-2-Clause
/* Scaling and normalizing a profile, and dropping sample types: rounding, saturation, and totals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "profile/algebra.h"
#include "profile_case.h"

#define HEAP "objects/count space/bytes"

static void test_scaled_rounds_and_sticks(void **state)
{
	(void)state;
	assert_int_equal(profile_scaled(5, .5), 3); /* halves away from zero */
	assert_int_equal(profile_scaled(-5, .5), -3);
	assert_int_equal(profile_scaled(1, .49), 0);
	assert_int_equal(profile_scaled(INT64_MAX, 2), INT64_MAX);
	assert_int_equal(profile_scaled(INT64_MAX, -2), INT64_MIN);
	assert_int_equal(profile_scaled(INT64_MIN, -1), INT64_MAX);
	/* Beyond what a double holds exactly. */
	assert_int_equal(profile_scaled((1ll << 53) + 1, 1), (1ll << 53) + 1);
	assert_int_equal(profile_scaled((1ll << 53) + 1, -1), -(1ll << 53) - 1);
	assert_int_equal(profile_scaled(7, NAN), 0);
	assert_int_equal(profile_scaled(7, INFINITY), INT64_MAX);
	assert_int_equal(profile_scaled(0, INFINITY), 0);
}

/* pprof's ScaleN drops "5 0" here: its factor is 1. */
static void test_scale_keeps_what_is_not_zero(void **state)
{
	struct profile *profile = case_new(HEAP);

	(void)state;
	case_add(profile, "main;a", "", 5, 0);
	case_add(profile, "main;b", "", 0, 5);
	case_add(profile, "main;c", "", 0, 0);
	profile_scale_types(profile, (double[]){1, 2});
	assert_case(profile, "main;a 5 0\nmain;b 0 10\n");
	profile_scale(profile, -.05);
	assert_case(profile, "main;b 0 -1\n");
	profile_free(profile);
}

static void test_normalize(void **state)
{
	struct profile *base = case_new(HEAP), *source = case_new(HEAP);
	struct profile *other = case_new("objects/count");

	(void)state;
	case_add(base, "main;a", "", 10, 0);
	case_add(base, "main;b", "", 30, 7);
	case_add(source, "main;a", "", 4, 0);
	case_add(source, "main;c", "", 4, 0);
	assert_int_equal(profile_normalize(source, base), 0);
	assert_case(source, "main;a 20 0\nmain;c 20 0\n");
	assert_int_equal(profile_total(source, 0, false), profile_total(base, 0, false));
	assert_int_equal(profile_normalize(source, other), -EINVAL);
	profile_free(base);
	profile_free(source);
	profile_free(other);
}

static void test_keep_types(void **state)
{
	struct profile *profile = case_new("a/count b/bytes c/count");

	(void)state;
	profile->default_type = profile_string(profile, "b");
	case_add(profile, "main;f", "", 1, 2, 3);
	case_add(profile, "main;g", "", 0, 5, 0);
	assert_int_equal(profile_find_type(profile, "c"), 2);
	assert_int_equal(profile_find_type(profile, "d"), -ENOENT);
	profile_keep_types(profile, (bool[]){true, false, true});
	assert_int_equal(profile->nr_types, 2);
	assert_int_equal(profile_find_type(profile, "c"), 1);
	assert_int_equal(profile->default_type, 0);
	assert_case(profile, "main;f 1 3\n");
	profile_free(profile);
}

static void test_total(void **state)
{
	struct profile *profile = case_new(HEAP);

	(void)state;
	case_add(profile, "a", "", INT64_MAX, INT64_MIN);
	case_add(profile, "b", "", 1, 5);
	case_add(profile, "c", "", -2, 0);
	assert_int_equal(profile_total(profile, 0, false), INT64_MAX - 1);
	assert_int_equal(profile_total(profile, 0, true), INT64_MAX);
	assert_int_equal(profile_total(profile, 1, false), INT64_MIN + 5);
	assert_int_equal(profile_total(profile, 1, true), INT64_MAX);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scaled_rounds_and_sticks),
		cmocka_unit_test(test_scale_keeps_what_is_not_zero),
		cmocka_unit_test(test_normalize),
		cmocka_unit_test(test_keep_types),
		cmocka_unit_test(test_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
