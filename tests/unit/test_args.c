// SPDX-License-Identifier: BSD-2-Clause
/* tools/args: options of every kind, operands in any order, and lists of operands behind an option. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "tools/args.h"

static struct {
	bool flag;
	const char *text, *maybe;
	struct arg_list list, base, head, operand;
	uint32_t count;
	double percent;
	uint64_t duration;
} got;

static int release(void **state)
{
	(void)state;
	vec_release(&got.list);
	vec_release(&got.base);
	vec_release(&got.head);
	vec_release(&got.operand);
	memset(&got, 0, sizeof(got));
	return 0;
}

/* Parses words parted by blanks; what it found is in got. */
static int parse(const char *line)
{
	static char copy[512];
	static char *argv[32];
	const struct arg_row rows[] = {
		{"flag", 'f', ARG_FLAG, NULL, "a flag", &got.flag},
		{"text", 't', ARG_TEXT, "TEXT", "a text", &got.text},
		{"list", 0, ARG_LIST, "TEXT", "texts", &got.list},
		{"base", 0, ARG_OPERANDS, "FILE...", "files", &got.base},
		{"head", 0, ARG_OPERANDS, "FILE...", "files", &got.head},
		{"maybe", 0, ARG_MAYBE_FILE, "FILE", "a file or not", &got.maybe},
		{"count", 'n', ARG_COUNT, "N", "a number", &got.count},
		{"percent", 0, ARG_PERCENT, "PCT", "a percentage", &got.percent},
		{"duration", 0, ARG_DURATION, "TIME", "a time", &got.duration},
	};
	struct args args = {.command = "test", .rows = rows, .nr_rows = ARRAY_SIZE(rows)};
	int argc = 0, err;

	release(NULL);
	strncpy(copy, line, sizeof(copy) - 1);
	for (char *word = strtok(copy, " "); word && argc < 31; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	err = args_parse(&args, argc, argv);
	got.operand = args.operand;
	return err;
}

static void assert_list(const struct arg_list *list, const char *expected)
{
	char joined[256] = "";

	for (size_t i = 0; i < list->nr; i++) {
		strcat(joined, i ? " " : "");
		strcat(joined, list->at[i]);
	}
	assert_string_equal(joined, expected);
}

static void test_kinds(void **state)
{
	(void)state;
	assert_int_equal(parse("test -f --text x a --list 1 b --list 2,3 -n 7 --percent 0.5pp "
			       "--duration 30s - c"),
			 0);
	assert_true(got.flag);
	assert_string_equal(got.text, "x");
	assert_list(&got.list, "1 2,3");
	assert_int_equal(got.count, 7);
	assert_true(got.percent == 0.5);
	assert_int_equal(got.duration, 30000000000);
	assert_list(&got.operand, "a b - c");
}

static void test_operands_behind_an_option(void **state)
{
	(void)state;
	assert_int_equal(parse("test --base b1 b2 - --head h1 h2 -f"), 0);
	assert_list(&got.base, "b1 b2 -");
	assert_list(&got.head, "h1 h2");
	assert_list(&got.operand, "");
	/* any other option ends the list, and "--" does */
	assert_int_equal(parse("test x --base b1 -n 3 y --base=b2 b3 -- --head z"), 0);
	assert_list(&got.base, "b1 b2 b3");
	assert_list(&got.operand, "x y --head z");
	assert_list(&got.head, "");
	/* a glob that matched nothing is an empty list, and does not swallow what follows */
	assert_int_equal(parse("test --base --head h1"), 0);
	assert_list(&got.base, "");
	assert_true(got.base.given);
	assert_list(&got.head, "h1");
	assert_int_equal(parse("test --head h1"), 0);
	assert_false(got.base.given);
}

static void test_a_file_or_none(void **state)
{
	(void)state;
	assert_int_equal(parse("test a --maybe"), 0);
	assert_string_equal(got.maybe, "-");
	assert_list(&got.operand, "a");
	assert_int_equal(parse("test --maybe=x y"), 0);
	assert_string_equal(got.maybe, "x");
	assert_list(&got.operand, "y");
	assert_int_equal(parse("test --base b1 --maybe x y --head h1"), 0);
	assert_string_equal(got.maybe, "x");
	assert_list(&got.base, "b1");
	assert_list(&got.operand, "y");
	/* not behind another option, nor behind "--" */
	assert_int_equal(parse("test --maybe -f x"), 0);
	assert_string_equal(got.maybe, "-");
	assert_list(&got.operand, "x");
	assert_int_equal(parse("test --maybe -- x"), 0);
	assert_string_equal(got.maybe, "-");
	assert_list(&got.operand, "x");
}

static void test_percentages(void **state)
{
	(void)state;
	assert_int_equal(parse("test --percent 10%"), 0);
	assert_true(got.percent == 10);
	assert_int_equal(parse("test --percent 10"), 0);
	assert_int_equal(parse("test --percent 10p"), -EINVAL);
	assert_int_equal(parse("test --percent 10ppp"), -EINVAL);
	assert_int_equal(parse("test --percent -1"), -EINVAL);
	assert_int_equal(parse("test --percent nan"), -EINVAL);
}

static void test_begin(void **state)
{
	struct arg_list list = {0};
	const struct arg_row rows[] = {{"list", 0, ARG_LIST, "TEXT", "texts", &list}};
	char name[] = "test", option[] = "--list", text[] = "x", dash[] = "-",
	     other[] = "--nothing";
	char *none[] = {name, option, text, NULL}, *wrong[] = {name, other, NULL};
	char *one[] = {name, option, text, dash, NULL};
	struct args args = {
		.command = "test", .needs_file = true, .rows = rows, .nr_rows = ARRAY_SIZE(rows)};
	enum exit_code code;

	(void)state;
	assert_false(args_begin(&args, 3, none, &code));
	assert_int_equal(code, EXIT_USAGE);
	args_release(&args);
	assert_null(list.at); /* whoever reads an option's list does not free it */
	assert_false(args_begin(&args, 2, wrong, &code));
	assert_int_equal(code, EXIT_USAGE);
	args_release(&args);
	assert_true(args_begin(&args, 4, one, &code));
	assert_int_equal(code, EXIT_DONE);
	assert_list(&list, "x");
	assert_list(&args.operand, "-");
	args_release(&args);
	args.needs_file = false;
	assert_true(args_begin(&args, 3, none, &code));
	args_release(&args);
}

static void test_refusals(void **state)
{
	(void)state;
	assert_int_equal(parse("test --unknown"), -EINVAL);
	assert_int_equal(parse("test --text"), -EINVAL);
	assert_int_equal(parse("test -n x"), -EINVAL);
	assert_int_equal(parse("test -n -3"), -EINVAL);
	assert_int_equal(parse("test -x"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_kinds, release),
		cmocka_unit_test_teardown(test_operands_behind_an_option, release),
		cmocka_unit_test_teardown(test_a_file_or_none, release),
		cmocka_unit_test_teardown(test_percentages, release),
		cmocka_unit_test_teardown(test_begin, release),
		cmocka_unit_test_teardown(test_refusals, release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
