// SPDX-License-Identifier: BSD-2-Clause
/* The scaling of sampled allocations: estimates, variances and extremes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "profile/scale.h"

#define RATE (512 * 1024)

static void assert_scaled(uint64_t nr, uint64_t size, uint64_t rate, int64_t want_objects,
			  int64_t want_bytes)
{
	struct scale_sum sum = {0};

	scale_heap_add(&sum, nr, size, rate);
	assert_int_equal(scale_round(sum.objects), want_objects);
	assert_int_equal(scale_round(sum.bytes), want_bytes);
}

/* The records of TestSampledHeapAllocProfile, the test that came with the formula. */
static void test_records_of_the_source(void **state)
{
	(void)state;
	assert_scaled(4, 1024, RATE, 2050, 2099200);
	assert_scaled(3, 1024, RATE, 1537, 1574400);
	assert_scaled(1, RATE, RATE, 1, 829411);
	assert_scaled(0, 0, RATE, 0, 0);
}

static void test_nothing_is_nothing(void **state)
{
	(void)state;
	assert_scaled(0, 4096, RATE, 0, 0);
	assert_scaled(4, 0, RATE, 0, 0);
}

static void test_without_sampling(void **state)
{
	(void)state;
	assert_scaled(7, 100, 1, 7, 700);
	assert_scaled(7, 100, 0, 7, 700);
}

static void test_extremes(void **state)
{
	(void)state;
	/* Far beyond the rate every allocation is taken. */
	assert_scaled(3, 1ll << 40, RATE, 3, 3ll << 40);
	/* One byte at the largest rates there are: stuck, not wrapped. */
	assert_scaled(1000, 1, INT64_MAX, INT64_MAX, INT64_MAX);
	assert_scaled(INT64_MAX, 1, RATE, INT64_MAX, INT64_MAX);
}

/* Added up before they are rounded: 1.58 and 1.58 are 3, not 1 and 1. */
static void test_rounded_once(void **state)
{
	struct scale_sum sum = {0};

	(void)state;
	scale_heap_add(&sum, 1, RATE, RATE);
	scale_heap_add(&sum, 1, RATE + 1, RATE);
	assert_int_equal(scale_round(sum.objects), 3);
}

/* Of one sampled block of s = rate: s^2 (1-p)/p^2 with p = 0.632. None where nothing was left out. */
static void test_variance(void **state)
{
	const double p = 0.632120558828557678;
	struct scale_sum sum = {0};

	(void)state;
	scale_heap_add(&sum, 1, RATE, RATE);
	assert_true(fabs(sum.bytes_variance / ((double)RATE * RATE * (1 - p) / (p * p)) - 1) <
		    1e-9);
	scale_heap_add(&sum, 3, RATE, RATE);
	assert_true(fabs(sum.bytes_variance / (4.0 * RATE * RATE * (1 - p) / (p * p)) - 1) < 1e-9);
	sum = (struct scale_sum){0};
	scale_heap_add(&sum, 5, 100, 1);
	scale_heap_add(&sum, 5, 1ull << 40, RATE);
	assert_true(sum.bytes_variance == 0);
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
		cmocka_unit_test(test_rounded_once),
		cmocka_unit_test(test_variance),
		cmocka_unit_test(test_probability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
