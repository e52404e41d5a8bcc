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
	struct price price = {.alloc_trap_ns = 1000, .free_trap_ns = 500};
	struct overhead expected;

	(void)state;
	price_expect(&price, 4000, false, &expected);
	assert_in_range(expected.cost_ns, 3 * MS,
			5 * MS);		     /* of a target, somewhat more than the traps */
	price_expect(&price, 4000, true, &expected); /* no call is a free */
	assert_in_range(expected.cost_ns, 4 * MS, 7 * MS);
}

static bool look(struct overhead_limit *limit, uint64_t cost_ms, uint64_t cpu_ms)
{
	struct overhead now = of(cost_ms, cpu_ms);

	return overhead_limit_look(limit, &now, 0);
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

/* As look(), of two CPUs, when the run has lasted for wall_ms. */
static bool look_at_two(struct overhead_limit *limit, uint64_t wall_ms, uint64_t cost_ms)
{
	struct overhead now = of(cost_ms, cost_ms + 1);

	return overhead_limit_look(limit, &now, 7000 * MS + wall_ms * MS);
}

static void test_limit_of_all(void **state)
{
	struct overhead_limit limit = {.percent = 10, .nr_cpus = 2, .begin_ns = 7000 * MS};

	(void)state;
	/* One command on an idle machine: all that is used, and little of what could be. */
	assert_false(look_at_two(&limit, 1999, 1900)); /* not yet a piece */
	for (uint64_t s = 2; s <= 20; s += 2)
		assert_false(look_at_two(&limit, s * 1000, 1900));
	/* Two pieces of 20 %, and one without. */
	assert_false(look_at_two(&limit, 22000, 2700));
	assert_false(look_at_two(&limit, 24000, 3500));
	assert_false(look_at_two(&limit, 26000, 3500));
	/* Three in a row. */
	assert_false(look_at_two(&limit, 28000, 4300));
	assert_false(look_at_two(&limit, 30000, 5100));
	assert_false(look_at_two(&limit, 31000, 5500));
	assert_true(look_at_two(&limit, 32000, 6100));
	assert_float_equal((float)limit.reached, 25, 1e-3f);
	assert_true(look_at_two(&limit, 34000, 6100)); /* it stays so */
}

static void test_looks_are_rare(void **state)
{
	struct overhead_limit limit = {.percent = 10}, none = {.percent = 100};
	int nr = 0;

	(void)state;
	for (uint64_t now_ms = 5000; now_ms < 6000; now_ms++)
		nr += overhead_limit_is_due(&limit, now_ms * MS);
	assert_int_equal(nr, 10);
	assert_false(overhead_limit_is_due(&none, 5000 * MS));
	limit.reached = 11;
	assert_false(overhead_limit_is_due(&limit, 9000 * MS));
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
		cmocka_unit_test(test_share),	     cmocka_unit_test(test_status),
		cmocka_unit_test(test_expected),     cmocka_unit_test(test_limit),
		cmocka_unit_test(test_limit_of_all), cmocka_unit_test(test_looks_are_rare),
		cmocka_unit_test(test_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
