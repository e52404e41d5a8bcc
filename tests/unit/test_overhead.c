// SPDX-License-Identifier: BSD-2-Clause
/* What share profiling has of its targets' time, and when that is over a limit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "collect/price.h"
#include "record/overhead.h"

#define MS 1000000ull

static struct overhead of(uint64_t cost_ms, uint64_t cpu_ms)
{
	return (struct overhead){
		.nr_traps = cost_ms * 1000, .cost_ns = cost_ms * MS, .cpu_ns = cpu_ms * MS};
}

static double percent_of(uint64_t cost_ms, uint64_t cpu_ms)
{
	struct overhead overhead = of(cost_ms, cpu_ms);

	return overhead_percent(&overhead);
}

static void test_share(void **state)
{
	(void)state;
	assert_float_equal((float)percent_of(250, 1000), 25, 1e-3f);
	assert_float_equal((float)percent_of(0, 1000), 0, 1e-3f);
	assert_float_equal((float)percent_of(5, 5), 0, 1e-3f); /* too little to say */
	assert_float_equal((float)percent_of(2000, 1000), 99, 1e-3f);
}

static void test_status(void **state)
{
	struct overhead some = of(120, 1000), little = of(1, 1000), none = {0};
	char text[96];

	(void)state;
	assert_string_equal(overhead_status(&some, false, text, sizeof(text)),
			    "  profiling takes about 12 % of the target's CPU time");
	assert_string_equal(overhead_status(&little, true, text, sizeof(text)),
			    "  profiling takes less than 1 % of the CPU time of all");
	assert_string_equal(overhead_status(&none, false, text, sizeof(text)), "");
}

static void test_expected(void **state)
{
	struct price price = {.alloc_ns = 1000, .free_ns = 500};
	struct overhead expected;

	(void)state;
	price_expect(&price, 4000, false, &expected);
	assert_int_equal(expected.cost_ns, 3 * MS);
	price_expect(&price, 4000, true, &expected); /* no call is a free */
	assert_int_equal(expected.cost_ns, 4 * MS);
}

static bool look(struct overhead_limit *limit, uint64_t cost_ms, uint64_t cpu_ms)
{
	struct overhead now = of(cost_ms, cpu_ms);

	return overhead_limit_look(limit, &now);
}

static void test_limit(void **state)
{
	struct overhead_limit limit = {.percent = 20};

	(void)state;
	assert_false(look(&limit, 90, 100)); /* half a second is not over */
	assert_false(look(&limit, 90, 500)); /* 18 % of it */
	assert_false(look(&limit, 190, 1000));
	assert_false(look(&limit, 190, 900)); /* clocks that seem to go back */
	/* Each piece by itself: 21 % of the whole, but 40 % of the last half second. */
	assert_true(look(&limit, 390, 1500));
	assert_float_equal((float)limit.reached, 40, 1e-3f);
	assert_true(look(&limit, 390, 9000)); /* it stays so */
}

static void test_no_limit(void **state)
{
	struct overhead_limit limit = {.percent = 100};

	(void)state;
	assert_false(look(&limit, 5000, 5000));
	assert_float_equal((float)limit.reached, 0, 1e-3f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),	 cmocka_unit_test(test_status),
		cmocka_unit_test(test_expected), cmocka_unit_test(test_limit),
		cmocka_unit_test(test_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
