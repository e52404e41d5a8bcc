// SPDX-License-Identifier: BSD-2-Clause
/* cli/argtype: the edges of every kind of value. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "cli/args.h"
#include "cli/argtype.h"

static int store(const struct arg_type *type, const char *text, void *value)
{
	return argtype_store(type, "--option", text, value);
}

/* Each is refused, and the value stays what it was. */
static void refused(struct arg_type type, const char *const *texts)
{
	for (; *texts; texts++) {
		unsigned char value[sizeof(struct arg_list)], before[sizeof(value)];

		memset(value, 0x5a, sizeof(value));
		memcpy(before, value, sizeof(value));
		if (store(&type, *texts, value) != -EINVAL)
			fail_msg("'%s' was taken", *texts);
		assert_memory_equal(value, before, sizeof(value));
	}
}

static void test_counts(void **state)
{
	const struct arg_type any = ARG_COUNT, few = ARG_COUNT_FROM(2, 200);
	static const char *const bad[] = {
		"",    " ",   "-1",   "-0", "+1",  " 1",	 "1 ",
		"1.0", "1e3", "0x10", "1k", "1,0", "4294967296", "99999999999999999999999",
		"x",   "inf", NULL};
	static const char *const outside[] = {"0", "1", "201", "4294967298", NULL};
	uint32_t value = 7;

	(void)state;
	assert_int_equal(store(&any, "0", &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(store(&any, "4294967295", &value), 0);
	assert_true(value == UINT32_MAX);
	assert_int_equal(store(&any, "0010", &value), 0); /* decimal, not octal */
	assert_int_equal(value, 10);
	assert_int_equal(store(&few, "2", &value), 0);
	assert_int_equal(store(&few, "200", &value), 0);
	assert_int_equal(value, 200);
	refused(any, bad);
	refused(few, bad);
	refused(few, outside);
}

static void test_sizes(void **state)
{
	const struct arg_type type = ARG_SIZE;
	static const char *const bad[] = {"",
					  "0",
					  "00",
					  "-1",
					  "+1",
					  "1k",
					  "12K",
					  "1MB",
					  "1e3",
					  "1.5",
					  "0x10",
					  "1099511627777",
					  "18446744073709551616",
					  "18446744073709551617",
					  " 1",
					  "1 ",
					  NULL};
	uint64_t value = 7;

	(void)state;
	assert_int_equal(store(&type, "1", &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(store(&type, "1099511627776", &value), 0);
	assert_true(value == 1ull << 40);
	assert_int_equal(store(&type, "000524288", &value), 0);
	assert_int_equal(value, 524288);
	refused(type, bad);
}

static void test_frequencies(void **state)
{
	const struct arg_type type = ARG_FREQUENCY;
	static const char *const bad[] = {"",	 "0",	"-1",	"+99",	      "99.5",	     "99Hz",
					  "99 ", "1e2", "0x63", "4294967395", "99999999999", "max",
					  NULL};
	uint32_t value = 7;

	(void)state;
	assert_int_equal(store(&type, "1", &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(store(&type, "0099", &value), 0);
	assert_int_equal(value, 99);
	refused(type, bad);
}

struct real {
	const char *text;
	double value;
};

static void accepted(const struct arg_type *type, const struct real *good, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		double value = 42;

		assert_int_equal(store(type, good[i].text, &value), 0);
		assert_true(value == good[i].value);
	}
}

static void test_reals(void **state)
{
	const struct arg_type type = ARG_REAL;
	static const struct real good[] = {
		{"0", 0},  {"-1", -1},	    {"+2", 2},	   {".5", 0.5},	   {"-.5", -0.5},
		{"5.", 5}, {"007.50", 7.5}, {"1e3", 1000}, {"2E-2", 0.02}, {"-0", 0}};
	static const char *const bad[] = {"",	  ".",	 "-",	  "+",	  "e5",	 "inf",
					  "-inf", "nan", "1e999", "0x10", "0X1", "-0x1",
					  " 1",	  "1 ",	 "1,5",	  "1x",	  "--1", NULL};

	(void)state;
	accepted(&type, good, ARRAY_SIZE(good));
	refused(type, bad);
}

static void test_percentages(void **state)
{
	const struct arg_type type = ARG_PERCENT;
	static const struct real good[] = {{"10%", 10}, {"10", 10},   {"0.5pp", 0.5}, {"0", 0},
					   {"007%", 7}, {".5%", 0.5}, {"1000%", 1000}};
	static const char *const bad[] = {"",	  "%",	   "pp",    "-1",   "-0",    "-1%",
					  "10p",  "10ppp", "10%%",  "10 %", "10%pp", "nan",
					  "inf%", "1e999", "0x10%", "10% ", " 10%",  NULL};

	(void)state;
	accepted(&type, good, ARRAY_SIZE(good));
	refused(type, bad);
}

static void test_durations(void **state)
{
	const struct arg_type type = ARG_DURATION;
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"30s", 30 * NSEC_PER_SEC},
		    {"500ms", NSEC_PER_SEC / 2},
		    {"250us", 250000},
		    {"2m", 120 * NSEC_PER_SEC},
		    {"1h", 3600 * NSEC_PER_SEC},
		    {"7", 7 * NSEC_PER_SEC},
		    {"0030s", 30 * NSEC_PER_SEC},
		    {"1.5s", 3 * NSEC_PER_SEC / 2}};
	static const char *const bad[] = {"",	  "s",	   "0",		"0s",  "-1s", "+1s",
					  "1d",	  "1s2",   "1 s",	" 1s", "1s ", "1e3",
					  "0x1s", "9000h", "99999999h", "inf", "nan", NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		uint64_t ns = 42;

		assert_int_equal(store(&type, good[i].text, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
	refused(type, bad);
}

static void test_choices(void **state)
{
	const struct arg_type one = ARG_CHOICE("function line tag=KEY"),
			      many = ARG_CHOICES("a ab c");
	static const char *const bad[] = {
		"",	"func",	  "functions", "function ", "function line", "line,line", "tag",
		"tag=", "tags=x", "=",	       "LINE",	    " line",	     NULL};
	static const char *const bad_lists[] = {"",    ",",   "a,",  ",a", "a,,c",
						"a b", "a,d", "abc", NULL};
	static const char *const good[] = {"function", "line", "tag=x", "tag=KEY", "tag=a b"};
	struct arg_list list = {0};
	const char *value = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(store(&one, good[i], &value), 0);
		assert_ptr_equal(value, good[i]);
	}
	refused(one, bad);
	assert_int_equal(store(&many, "ab", &list), 0);
	assert_int_equal(store(&many, "c,a,ab,a", &list), 0);
	assert_int_equal(list.nr, 2);
	assert_string_equal(list.at[1], "c,a,ab,a");
	vec_release(&list);
	refused(many, bad_lists);
}

static void test_regexes(void **state)
{
	const struct arg_type one = ARG_REGEX, many = ARG_REGEXES;
	static const char *const bad[] = {"(", "a)(", "[a", "a{2,1}", "\\", "[[:nope:]]", NULL};
	static const char *const empty[] = {"", NULL};
	struct arg_list list = {0};
	const char *value = NULL;

	(void)state;
	assert_int_equal(store(&one, "^(a|b)+$", &value), 0);
	assert_string_equal(value, "^(a|b)+$");
	assert_int_equal(store(&one, "", &value), 0); /* matches everything, as with grep */
	refused(one, bad);
	refused(many, bad);
	refused(many, empty);
	assert_int_equal(store(&many, "a", &list), 0);
	assert_int_equal(store(&many, "b", &list), 0);
	assert_int_equal(list.nr, 2);
	vec_release(&list);
}

static void test_files_and_texts(void **state)
{
	const struct arg_type file = ARG_FILE, files = ARG_FILES, text = ARG_TEXT,
			      texts = ARG_TEXTS, maybe = ARG_MAYBE_FILE, operands = ARG_OPERANDS;
	static const char *const empty[] = {"", NULL};
	struct arg_list list = {0};
	const char *value = NULL;

	(void)state;
	assert_int_equal(store(&file, "-", &value), 0);
	assert_string_equal(value, "-");
	assert_int_equal(store(&text, "", &value), 0);
	assert_string_equal(value, "");
	assert_int_equal(store(&maybe, NULL, &value), 0);
	assert_string_equal(value, "-");
	assert_int_equal(store(&maybe, "x", &value), 0);
	assert_string_equal(value, "x");
	refused(file, empty);
	refused(files, empty);
	refused(texts, empty);
	refused(maybe, empty);
	refused(operands, empty);
	assert_int_equal(store(&operands, NULL, &list), 0);
	assert_true(list.given && !list.nr);
	assert_int_equal(store(&files, "a", &list), 0);
	assert_int_equal(list.nr, 1);
	vec_release(&list);
}

static void test_flags(void **state)
{
	const struct arg_type set = ARG_FLAG, clear = ARG_CLEAR;
	bool value = false;

	(void)state;
	assert_int_equal(store(&set, NULL, &value), 0);
	assert_true(value);
	assert_int_equal(store(&clear, NULL, &value), 0);
	assert_false(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_frequencies),	cmocka_unit_test(test_reals),
		cmocka_unit_test(test_percentages),	cmocka_unit_test(test_durations),
		cmocka_unit_test(test_choices),		cmocka_unit_test(test_regexes),
		cmocka_unit_test(test_files_and_texts), cmocka_unit_test(test_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
