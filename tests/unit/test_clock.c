// SPDX-License-Identifier: BSD-2-Clause
/* Durations on the command line, and the clocks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"30s", 30 * NSEC_PER_SEC},  {"500ms", NSEC_PER_SEC / 2}, {"250us", 250000},
		{"1.5m", 90 * NSEC_PER_SEC}, {"2h", 7200 * NSEC_PER_SEC}, {"7", 7 * NSEC_PER_SEC},
		{".5", NSEC_PER_SEC / 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t ns = 0;

		assert_int_equal(clock_parse_duration(good[i].text, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
}

static void test_what_is_no_duration(void **state)
{
	static const char *const bad[] = {"",	  "s",	  "0",	  "0s",	  "-1s", "+1s",
					  " 1s",  "1s ",  "1 s",  "1d",	  "inf", "nan",
					  "1e3s", "0x10", "1..5", "1sec", "."};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t ns = 42;

		assert_int_equal(clock_parse_duration(bad[i], &ns), -EINVAL);
		assert_int_equal(ns, 42);
	}
}

static void test_longest_duration(void **state)
{
	uint64_t ns = 42;

	(void)state;
	assert_int_equal(clock_parse_duration("9000h", &ns), -ERANGE);
	assert_int_equal(clock_parse_duration("99999999999999999999s", &ns), -ERANGE);
	assert_int_equal(ns, 42);
}

static void test_clocks_run(void **state)
{
	uint64_t before = clock_monotonic_ns();

	(void)state;
	usleep(1000);
	assert_true(clock_monotonic_ns() >= before + 1000000);
	assert_true(clock_realtime_ns() > 1700000000 * NSEC_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_what_is_no_duration),
		cmocka_unit_test(test_longest_duration),
		cmocka_unit_test(test_clocks_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
