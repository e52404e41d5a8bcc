// SPDX-License-Identifier: BSD-2-Clause
/* Text that is escaped for a terminal, cut at characters, and checked as UTF-8. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void expect_utf8(const char *in, const char *out)
{
	char buffer[256];

	assert_string_equal(text_to_utf8(in, buffer, sizeof(buffer)), out);
}

static void expect_escaped(const char *in, const char *out)
{
	char buffer[256];

	assert_string_equal(text_escape(in, buffer, sizeof(buffer)), out);
}

static void test_valid_text_stays(void **state)
{
	(void)state;
	expect_utf8("", "");
	expect_utf8("plain", "plain");
	expect_utf8("h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x94\xa5",
		    "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x94\xa5");
	expect_utf8("tab\tand\x1b", "tab\tand\x1b");
}

/* RFC 3629: shortest forms only, no surrogates, nothing above U+10FFFF. */
static void test_broken_bytes_are_shown(void **state)
{
	(void)state;
	expect_utf8("bad\xff\xfename", "bad\\xff\\xfename");
	expect_utf8("\xc0\x80", "\\xc0\\x80");
	expect_utf8("\xe0\x80\xaf", "\\xe0\\x80\\xaf");
	expect_utf8("\xed\xa0\x80", "\\xed\\xa0\\x80");
	expect_utf8("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	expect_utf8("cut\xe2\x82", "cut\\xe2\\x82");
	expect_utf8("\x80", "\\x80");
}

static void test_nothing_reaches_the_terminal(void **state)
{
	(void)state;
	expect_escaped("\x1b[31mred", "\\x1b[31mred");
	expect_escaped("a\nb\x7f", "a\\x0ab\\x7f");
	expect_escaped("c1\xc2\x9b", "c1\\xc2\\x9b");
	expect_escaped("\xe2\x80\xae"
		       "evil",
		       "\\xe2\\x80\\xae"
		       "evil");
	expect_escaped("h\xc3\xa9", "h\xc3\xa9");
}

/* Every cut leaves whole characters, and never one byte too many. */
/* Over-long forms, surrogates, what is beyond U+10FFFF, and a sequence that the length cuts. */
static void test_put_utf8(void **state)
{
	static const struct {
		uint32_t point;
		const char *bytes;
	} cases[] = {{0x41, "A"},
		     {0x7f, "\x7f"},
		     {0x80, "\xc2\x80"},
		     {0x7ff, "\xdf\xbf"},
		     {0x800, "\xe0\xa0\x80"},
		     {0xffff, "\xef\xbf\xbf"},
		     {0x10000, "\xf0\x90\x80\x80"},
		     {0x10ffff, "\xf4\x8f\xbf\xbf"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char to[5] = "";

		assert_int_equal(text_put_utf8(cases[i].point, to), strlen(cases[i].bytes));
		assert_string_equal(to, cases[i].bytes);
	}
}

static void test_utf8(void **state)
{
	static const char *const bad[] = {"\x80",
					  "\xc0\x80",
					  "\xe0\x80\x80",
					  "\xed\xa0\x80",
					  "\xf4\x90\x80\x80",
					  "\xf5\x80\x80\x80",
					  "\xc3",
					  "a\xe2\x82",
					  "\xf0\x9f\x98",
					  "\xe2\x82\xac\xff"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(text_is_utf8(bad[i], strlen(bad[i])));
	assert_true(text_is_utf8("", 0));
	assert_true(text_is_utf8("a\0\xe2\x82\xac\xf0\x9f\x98\x80", 9));
	assert_false(text_is_utf8("a\0\xe2\x82\xac\xf0\x9f\x98\x80", 8));
}

static void test_cut_at_characters(void **state)
{
	const char *text = "a\xe2\x82\xac\xff"
			   "z";

	(void)state;
	for (size_t size = 1; size < 16; size++) {
		char *out = malloc(size), again[64];

		text_to_utf8(text, out, size);
		assert_true(strlen(out) < size);
		assert_string_equal(text_to_utf8(out, again, sizeof(again)), out);
		free(out);
	}
}

static void test_counts(void **state)
{
	(void)state;
	assert_string_equal(text_count(0), "0");
	assert_string_equal(text_count(999), "999");
	assert_string_equal(text_count(1000), "1,000");
	assert_string_equal(text_count(1234567), "1,234,567");
	assert_string_equal(text_count(UINT64_MAX), "18,446,744,073,709,551,615");
}

static void test_parts(void **state)
{
	char out[12], large[8192], text[4096];

	(void)state;
	assert_string_equal(text_escape_part("whole", 5, false, out, sizeof(out)), "whole");
	assert_string_equal(text_escape_part("beginning", 5, false, out, sizeof(out)), "begin");
	assert_string_equal(text_escape_part("beginning", 5, true, out, sizeof(out)), "begin...");
	assert_string_equal(text_escape_part("up to\0here", 10, false, out, sizeof(out)), "up to");
	assert_string_equal(text_escape_part("just fits..", 11, false, out, sizeof(out)),
			    "just fits..");
	assert_string_equal(text_escape_part("does not fit", 12, false, out, sizeof(out)),
			    "does not...");
	assert_string_equal(text_escape_part("a\x01\x02\x03", 4, false, out, sizeof(out)),
			    "a\\x01...");
	memset(text, 'x', sizeof(text));
	text_escape_part(text, sizeof(text), false, large, sizeof(large));
	assert_int_equal(strlen(large), 1024 + 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid_text_stays),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_broken_bytes_are_shown),
		cmocka_unit_test(test_nothing_reaches_the_terminal),
		cmocka_unit_test(test_cut_at_characters),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_put_utf8),
		cmocka_unit_test(test_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
