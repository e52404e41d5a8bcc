// SPDX-License-Identifier: BSD-2-Clause
/* Which signals count. What they do, and what cprof says then, is seen by tests/e2e/test_cli_signals.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "record/interrupt.h"

#define FIRST (1000 * NSEC_PER_SEC)
#define MS    1000000ull

/* Whether each of the signals that come at these times, in ms since the first, counts. */
static void assert_counted(const uint64_t *at_ms, const bool *counts, size_t nr)
{
	uint64_t before_ns = 0;

	for (size_t i = 0; i < nr; i++)
		assert_int_equal(interrupt_counts(&before_ns, FIRST + at_ms[i] * MS), counts[i]);
}

static void the_first_counts(void **state)
{
	uint64_t before_ns = 0;

	(void)state;
	assert_true(interrupt_counts(&before_ns, 1)); /* just after the machine started */
	assert_int_equal(before_ns, 1);
}

static void a_further_one_counts_after_a_second(void **state)
{
	uint64_t before_ns = FIRST;

	(void)state;
	assert_false(interrupt_counts(&before_ns, FIRST + NSEC_PER_SEC - 1));
	before_ns = FIRST;
	assert_true(interrupt_counts(&before_ns, FIRST + NSEC_PER_SEC));
	before_ns = FIRST;
	assert_false(interrupt_counts(&before_ns, FIRST)); /* two threads at once */
}

/* Keys that are held down, or a sender that repeats itself: the second is since the last one, not the last that counted. */
static void those_that_follow_closely_never_count(void **state)
{
	static const uint64_t at_ms[] = {0, 900, 1800, 2700, 3699, 4699, 5698, 6698};
	static const bool counts[] = {true, false, false, false, false, true, false, true};

	(void)state;
	assert_counted(at_ms, counts, sizeof(at_ms) / sizeof(at_ms[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_counts),
		cmocka_unit_test(a_further_one_counts_after_a_second),
		cmocka_unit_test(those_that_follow_closely_never_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
