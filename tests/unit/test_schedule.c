// SPDX-License-Identifier: BSD-2-Clause
/* When a run drains, writes and ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "record/schedule.h"

#define START (1000 * NSEC_PER_SEC)
#define S(n)  (START + (n)*NSEC_PER_SEC)

static void assert_due(struct due due, bool snapshot, bool delta)
{
	assert_int_equal(due.snapshot, snapshot);
	assert_int_equal(due.delta, delta);
}

static void test_nothing_is_due_without_end(void **state)
{
	const struct options options = {.frequency_hz = 99};
	struct schedule schedule;

	(void)state;
	schedule_start(&schedule, &options, START);
	assert_true(schedule.end_ns == UINT64_MAX);
	assert_due(schedule_take(&schedule, S(1000000), false), false, false);
	assert_due(schedule_take(&schedule, S(1), true), true, true);
	assert_due(schedule_take(&schedule, S(1), false), false, false);
}

static void test_each_time_once(void **state)
{
	const struct options options = {.interval_ns = 2 * NSEC_PER_SEC,
					.delta_ns = 3 * NSEC_PER_SEC,
					.duration_ns = 20 * NSEC_PER_SEC};
	struct schedule schedule;

	(void)state;
	schedule_start(&schedule, &options, START);
	assert_due(schedule_take(&schedule, S(2) - 1, false), false, false);
	assert_due(schedule_take(&schedule, S(2), false), true, false);
	assert_due(schedule_take(&schedule, S(2), false), false, false);
	assert_due(schedule_take(&schedule, S(3), false), false, true);
	/* Late: what was missed is one file, and the next is due when it would have been. */
	assert_due(schedule_take(&schedule, S(11), false), true, true);
	assert_due(schedule_take(&schedule, S(12) - 1, false), false, false);
	assert_due(schedule_take(&schedule, S(12), false), true, true);
	/* Asked for: both, and the rest stays as it was. */
	assert_due(schedule_take(&schedule, S(13), true), true, true);
	assert_due(schedule_take(&schedule, S(14), false), true, false);
}

static void test_the_end_is_the_ends(void **state)
{
	const struct options options = {.interval_ns = 2 * NSEC_PER_SEC,
					.delta_ns = 4 * NSEC_PER_SEC,
					.duration_ns = 4 * NSEC_PER_SEC};
	struct schedule schedule;

	(void)state;
	schedule_start(&schedule, &options, START);
	assert_true(schedule.end_ns == S(4));
	assert_due(schedule_take(&schedule, S(2), false), true, false);
	assert_due(schedule_take(&schedule, S(4), false), false, false);
	assert_due(schedule_take(&schedule, S(100), false), false, false);
}

static void test_drains_grow_rare(void **state)
{
	const struct options options = {.duration_ns = 60 * NSEC_PER_SEC};
	struct schedule schedule;
	uint64_t last_ns = 0;

	(void)state;
	schedule_start(&schedule, &options, START);
	assert_true(schedule_rest_ns(&schedule) == START);
	for (int i = 0; i < 20; i++) {
		uint64_t wait_ns;

		schedule_drained(&schedule, S(i), i == 0);
		assert_true(schedule.drained_ns == S(i));
		assert_true(schedule_rest_ns(&schedule) == S(i) + NSEC_PER_SEC / 100);
		wait_ns = schedule_wake_ns(&schedule) - S(i);
		assert_true(wait_ns >= last_ns);
		last_ns = wait_ns;
	}
	assert_true(last_ns == NSEC_PER_SEC);
	schedule_drained(&schedule, S(20), true);
	assert_true(schedule_wake_ns(&schedule) < S(20) + NSEC_PER_SEC / 30);
}

static void test_what_is_due_ends_the_wait(void **state)
{
	const struct options options = {.interval_ns = 2 * NSEC_PER_SEC,
					.duration_ns = 5 * NSEC_PER_SEC};
	const uint64_t just = NSEC_PER_SEC / 1000;
	struct schedule schedule;

	(void)state;
	schedule_start(&schedule, &options, START);
	schedule_drained(&schedule, S(2) - just, false);
	assert_true(schedule_rest_ns(&schedule) == S(2));
	assert_true(schedule_wake_ns(&schedule) == S(2));
	schedule_take(&schedule, S(4), false);
	schedule_drained(&schedule, S(5) - just, false);
	assert_true(schedule_wake_ns(&schedule) == S(5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_due_without_end),
		cmocka_unit_test(test_each_time_once),
		cmocka_unit_test(test_the_end_is_the_ends),
		cmocka_unit_test(test_drains_grow_rare),
		cmocka_unit_test(test_what_is_due_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
