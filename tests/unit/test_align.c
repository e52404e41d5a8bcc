// SPDX-License-Identifier: BSD-2-Clause
/* Profiles whose sample types differ in order, units or number, before they are merged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "profile/align.h"
#include "profile/merge.h"
#include "profile_case.h"

static void test_order_and_units(void **state)
{
	struct profile *a = case_new("samples/count cpu/milliseconds wall/ns");
	struct profile *b = case_new("cpu/ns samples/count");

	(void)state;
	profile_set_period(b, "cpu", "us", 7);
	case_add(a, "main", "", 1, 2, 3);
	case_add(a, "main;f", "", 0, 0, 3);
	case_add(b, "main", "", 10, 1);
	assert_int_equal(profile_align(a, b), 0);
	assert_case(a, "main 1 2000000\n");
	assert_case(b, "main 1 10\n");
	assert_string_equal(strtab_get(&a->strings, a->types[1].unit), "ns");
	assert_string_equal(strtab_get(&b->strings, b->types[1].type), "cpu");
	assert_int_equal(b->period, 7000);
	assert_string_equal(strtab_get(&b->strings, b->period_type.unit), "nanoseconds");
	profile_free(a);
	profile_free(b);
}

static void test_same_stays(void **state)
{
	struct profile *a = case_new("samples/count"), *b = case_new("samples/count");

	(void)state;
	case_add(a, "main", "", 0);
	assert_int_equal(profile_align(a, b), 0);
	assert_case(a, "main 0\n");
	profile_free(a);
	profile_free(b);
}

/* A file may say anything: of types with one name the first is taken, however many there are. */
static void test_types_with_one_name(void **state)
{
	struct profile *a = case_new("x/count x/count x/count"), *b = case_new("x/count");

	(void)state;
	case_add(a, "main", "", 1, 2, 3);
	case_add(b, "main;f", "", 5);
	assert_int_equal(profile_align(a, b), 0);
	assert_case(a, "main 1\n");
	assert_case(b, "main;f 5\n");
	assert_int_equal(a->nr_types, 1);
	profile_free(a);

	a = case_new("y/count x/count x/count");
	case_add(a, "main", "", 1, 2, 3);
	assert_int_equal(profile_align(b, a), 0);
	assert_case(a, "main 2\n");
	profile_free(a);
	profile_free(b);
}

static void check_refused(const char *types_a, const char *types_b, const char *period_type)
{
	struct profile *a = case_new(types_a), *b = case_new(types_b);

	profile_set_period(b, period_type, "nanoseconds", 1);
	case_add(a, "main", "", 1, 2);
	assert_int_equal(profile_align(a, b), -EINVAL);
	assert_case(a, "main 1 2\n");
	profile_free(a);
	profile_free(b);
}

static void test_refused(void **state)
{
	(void)state;
	check_refused("samples/count cpu/ns", "objects/count space/bytes", "cpu");
	check_refused("samples/count cpu/ns", "samples/count cpu/bytes", "cpu");
	check_refused("samples/count cpu/ns", "samples/count cpu/cycles", "cpu");
	check_refused("samples/count cpu/ns", "samples/count cpu/ms", "space");
}

/* What the merger has is converted too when a finer unit comes. */
static void test_merged(void **state)
{
	const char *types[] = {"samples/count cpu/ms", "cpu/ns samples/count", "x/count cpu/us"};
	struct merger *merger = merger_new();
	struct profile *merged;
	const char *why;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct profile *source = case_new(types[i]);

		case_add(source, "main", "", 5, 5);
		assert_int_equal(merger_add_aligned(merger, source, &why), 0);
		profile_free(source);
	}
	merged = case_new("objects/count");
	assert_int_equal(merger_add_aligned(merger, merged, &why), -EINVAL);
	assert_string_equal(why,
			    "its list of sample types (objects/count) differs from that before "
			    "(cpu/ns)");
	profile_free(merged);
	merged = merger_finish(merger);
	assert_case(merged, "main 5005005\n");
	profile_free(merged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_and_units),
		cmocka_unit_test(test_same_stays),
		cmocka_unit_test(test_types_with_one_name),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
