// SPDX-License-Identifier: BSD-2-Clause
/* Values for people, against what `go tool pprof` shows of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/unit.h"

static void test_text(void **state)
{
	static const struct {
		int64_t value;
		const char *from, *to, *text;
	} cases[] = {
		{0, "nanoseconds", "auto", "0"},
		{1, "nanoseconds", "auto", "1ns"},
		{1234567890, "nanoseconds", "auto", "1.23s"},
		{1500, "microseconds", "auto", "1.50ms"},
		{7200, "seconds", "auto", "2hrs"},
		{524288, "bytes", "auto", "512kB"},
		{524800, "bytes", "auto", "512.50kB"},
		{-524800, "bytes", "auto", "-512.50kB"},
		{1, "bytes", "MB", "0"},
		{1 << 20, "bytes", "kB", "1024kB"},
		{7, "count", "auto", "7"},
		{7, "count", "count", "7"},
		{7, "objects", "objects", "7objects"},
		{INT64_MIN, "count", "auto", "-9223372036854775808"},
		{INT64_MIN, "nanoseconds", "auto", "-2562047.79hrs"},
	};
	char text[UNIT_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(unit_text(cases[i].value, cases[i].from, cases[i].to, text),
				    cases[i].text);
}

static void test_choice(void **state)
{
	(void)state;
	assert_string_equal(unit_for(10000000, 240000000, "nanoseconds"), "ms");
	assert_string_equal(unit_for(10000000, 2400000000, "nanoseconds"), "s");
	assert_string_equal(unit_for(0, 2400000000, "nanoseconds"), "s");
	assert_string_equal(unit_for(100, 100 << 20, "bytes"), "kB");
	assert_string_equal(unit_for(1, 5, "widgets"), "widgets");
	assert_int_equal(unit_check("nanoseconds", "ms"), 0);
	assert_int_equal(unit_check("count", "auto"), 0);
	assert_true(unit_check("count", "ms") < 0);
	assert_true(unit_check("bytes", "ms") < 0);
}

static void test_share(void **state)
{
	static const struct {
		int64_t part, whole;
		const char *text;
	} cases[] = {{1, 3, "33.33%"},	  {1, 1, "  100%"},	  {0, 7, "    0%"},
		     {1, 0, "    0%"},	  {1, 200, "  0.5%"},	  {-1, 2, "50.00%"},
		     {1, 7000, "0.014%"}, {9999, 10000, "  100%"}};
	char text[UNIT_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(unit_share(cases[i].part, cases[i].whole, text), cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
