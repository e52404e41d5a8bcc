// SPDX-License-Identifier: BSD-2-Clause
/* base/suggest: what is near, and what is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/suggest.h"

static const char *nearest(const char *word)
{
	static const char *const words[] = {"record",  "heap",	"info", "lint", "merge",
					    "diff",    "top",	"tree", "peek", "flame",
					    "convert", "check", "bench"};
	struct suggestion suggestion = suggestion_for(word, strlen(word));

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		suggestion_offer(&suggestion, words[i]);
	return suggestion.best ? suggestion.best : "";
}

static void test_near(void **state)
{
	(void)state;
	assert_string_equal(nearest("recrod"), "record"); /* swapped */
	assert_string_equal(nearest("recod"), "record");  /* left out */
	assert_string_equal(nearest("toop"), "top");	  /* put in */
	assert_string_equal(nearest("fkame"), "flame");	  /* changed */
	assert_string_equal(nearest("flamegraph"), "flame");
	assert_string_equal(nearest("conv"), "convert");
	assert_string_equal(nearest("tp"), "top");
	assert_string_equal(nearest("record"), "record");
}

static void test_far(void **state)
{
	char long_word[1001];

	(void)state;
	assert_string_equal(nearest(""), "");
	assert_string_equal(nearest("xyz"), "");
	assert_string_equal(nearest("frobnicate"), "");
	assert_string_equal(nearest("x"), "");
	memset(long_word, 'a', 1000);
	long_word[1000] = '\0';
	assert_string_equal(nearest(long_word), "");
	memcpy(long_word, "record", 6);
	assert_string_equal(nearest(long_word), "");
}

/* Only so much of the word counts. */
static void test_part(void **state)
{
	struct suggestion suggestion = suggestion_for("focsu=main", 5);

	(void)state;
	suggestion_offer(&suggestion, "focus");
	assert_string_equal(suggestion.best, "focus");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
