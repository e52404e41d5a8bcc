// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profile/scale.h"

#define RATE (512 * 1024)

static void assert_scaled(int64_t count, int64_t bytes, int64_t rate, int64_t want_count,
			  int64_t want_bytes)
{
	int64_t scaled_count = -1, scaled_bytes = -1;

	scale_heap_sample(count, bytes, rate, &scaled_count, &scaled_bytes);
	assert_int_equal(scaled_count, want_count);
	assert_int_equal(scaled_bytes, want_bytes);
}

/* The records of TestSampledHeapAllocProfile, the test that came with the formula. */
static void test_records_of_the_source(void **state)
{
	(void)state;
	assert_scaled(4, 4096, RATE, 2050, 2099200);
	assert_scaled(3, 3072, RATE, 1537, 1574400);
	assert_scaled(1, RATE, RATE, 1, 829411);
	assert_scaled(0, 0, RATE, 0, 0);
}

static void test_nothing_is_nothing(void **state)
{
	(void)state;
	assert_scaled(0, 4096, RATE, 0, 0);
	assert_scaled(4, 0, RATE, 0, 0);
	assert_scaled(-1, 10, RATE, 0, 0);
}

static void test_without_sampling(void **state)
{
	(void)state;
	assert_scaled(7, 700, 1, 7, 700);
	assert_scaled(7, 700, 0, 7, 700);
	assert_scaled(7, 700, -5, 7, 700);
}

static void test_extremes(void **state)
{
	(void)state;
	/* Far beyond the rate every allocation is taken. */
	assert_scaled(3, 3ll << 40, RATE, 3, 3ll << 40);
	/* One byte at the largest rates there are: stuck, not wrapped. */
	assert_scaled(1000, 1000, INT64_MAX, INT64_MAX, INT64_MAX);
	assert_scaled(INT64_MAX, INT64_MAX, RATE, INT64_MAX, INT64_MAX);
}

static void test_probability(void **state)
{
	(void)state;
	assert_float_equal(scale_heap_probability(RATE, RATE), 0.632120558828557678, 1e-15);
	assert_float_equal(scale_heap_probability(1, RATE), 1.907346813826e-06, 1e-17);
	assert_float_equal(scale_heap_probability(0, RATE), scale_heap_probability(1, RATE), 0);
	assert_float_equal(scale_heap_probability(1ull << 50, RATE), 1, 0);
	assert_float_equal(scale_heap_probability(100, 1), 1, 0);
	assert_float_equal(scale_heap_probability(100, 0), 1, 0);
	assert_true(scale_heap_probability(1, UINT64_MAX) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_of_the_source),
		cmocka_unit_test(test_nothing_is_nothing),
		cmocka_unit_test(test_without_sampling),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_probability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
