// SPDX-License-Identifier: BSD-2-Clause
/* cli/args: options of every kind, operands in any order, lists of operands behind an option, --help. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"

#include "cli/args.h"

static struct {
	bool flag;
	const char *text, *maybe;
	char **command;
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

static bool next_is_digit(const char *word)
{
	return *word >= '0' && *word <= '9';
}

static int count_calls(const char *name, const char *text, void *value)
{
	assert_string_equal(name, "-p");
	assert_true(next_is_digit(text));
	++*(uint32_t *)value;
	return 0;
}

/* Parses words parted by blanks; what it found is in got. */
static int parse_as(const char *line, bool runs_command)
{
	static char copy[512];
	static char *argv[32];
	const struct arg_row rows[] = {
		{"flag", 'f', ARG_FLAG, NULL, "a flag", &got.flag},
		{"no-flag", 'g', ARG_CLEAR, NULL, "not a flag", &got.flag},
		{"text", 't', ARG_TEXT, "TEXT", "a text", &got.text},
		{"tag", 0, ARG_TEXT, "TEXT", "a text", &got.text},
		{"tag-more", 0, ARG_TEXT, "TEXT", "a text", &got.text},
		{"list", 0, ARG_TEXTS, "TEXT", "texts", &got.list},
		ARG_GROUP("Operands"),
		{"base", 0, ARG_OPERANDS, "FILE...", "files", &got.base},
		{"head", 0, ARG_OPERANDS, "FILE...", "files", &got.head},
		{"maybe", 0, ARG_MAYBE_FILE, "FILE", "a file or not", &got.maybe},
		{"count", 'n', ARG_COUNT, "N", "a number", &got.count},
		{"percent", 0, ARG_PERCENT, "PCT", "a percentage", &got.percent},
		{"duration", 0, ARG_DURATION, "TIME", "a time", &got.duration},
		{"pid", 'p', ARG_CALL(count_calls, next_is_digit), "PID", "calls", &got.count},
		{"hidden", 0, ARG_FLAG, NULL, NULL, &got.flag},
	};
	const struct arg_row others[] = {{"elsewhere", 0, ARG_FLAG, NULL, "another's", NULL}};
	struct args args = {.command = "test",
			    .operands = "FILE",
			    .about = "Test the parser.",
			    .runs_command = runs_command,
			    .rows = rows,
			    .nr_rows = ARRAY_SIZE(rows),
			    .other = {"other", others, 1}};
	int argc = 0, err;

	release(NULL);
	strncpy(copy, line, sizeof(copy) - 1);
	for (char *word = strtok(copy, " "); word && argc < 31; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	err = args_parse(&args, argc, argv);
	got.operand = args.operand;
	got.command = args.child_argv;
	return err;
}

static int parse(const char *line)
{
	return parse_as(line, false);
}

/* What it printed on fd while it returned expected. */
static const char *said(int fd, int expected, const char *line)
{
	static char text[4096];
	FILE *file = tmpfile();
	int kept = dup(fd), err;
	size_t len;

	fflush(stdout);
	dup2(fileno(file), fd);
	err = parse(line);
	fflush(stdout);
	dup2(kept, fd);
	close(kept);
	rewind(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	fclose(file);
	assert_int_equal(err, expected);
	return text;
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
	const struct arg_row rows[] = {{"list", 0, ARG_TEXTS, "TEXT", "texts", &list}};
	char name[] = "test", option[] = "--list", text[] = "x", dash[] = "-",
	     other[] = "--nothing";
	char *none[] = {name, option, text, NULL}, *wrong[] = {name, other, NULL};
	char *one[] = {name, option, text, dash, NULL};
	struct args args = {.command = "test",
			    .operands = "FILE",
			    .needs_file = true,
			    .rows = rows,
			    .nr_rows = ARRAY_SIZE(rows)};
	enum exit_code code;

	(void)state;
	assert_false(args_begin(&args, 3, none, &code));
	assert_int_equal(code, EXIT_USAGE);
	args_release(&args);
	assert_null(list.at); /* the reader of an option's list does not free it */
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

static void test_words(void **state)
{
	(void)state;
	assert_int_equal(parse("test -fn7 -tx --list=a --list="), -EINVAL);
	assert_int_equal(parse("test -fn7 -tx=y --list=a=b a"), 0);
	assert_true(got.flag);
	assert_int_equal(got.count, 7);
	assert_string_equal(got.text, "x=y");
	assert_list(&got.list, "a=b");
	/* a value may look like an option, and the last one counts */
	assert_int_equal(parse("test --text --flag -t -1 -f --no-flag"), 0);
	assert_string_equal(got.text, "-1");
	assert_false(got.flag);
	assert_int_equal(parse("test --text= -fg"), 0);
	assert_string_equal(got.text, "");
	/* words that belong to the option before them, as in -p $(pidof many) */
	assert_int_equal(parse("test -p 1 2 3 x 4"), 0);
	assert_int_equal(got.count, 3);
	assert_list(&got.operand, "x 4");
}

/* A command follows: its options are its own. */
static void test_command(void **state)
{
	(void)state;
	assert_int_equal(parse_as("test -f ls -t -n", true), 0);
	assert_string_equal(got.command[0], "ls");
	assert_string_equal(got.command[2], "-n");
	assert_null(got.command[3]);
	assert_int_equal(parse_as("test -f -- -t --", true), 0);
	assert_string_equal(got.command[0], "-t");
	assert_string_equal(got.command[1], "--");
	assert_int_equal(parse_as("test -p 1 2 ls 3", true), 0);
	assert_int_equal(got.count, 2);
	assert_string_equal(got.command[0], "ls");
	assert_int_equal(parse_as("test -f --", true), 0);
	assert_null(got.command);
	assert_int_equal(parse_as("test -f", true), 0);
	assert_null(got.command);
}

static void test_abbreviations(void **state)
{
	(void)state;
	assert_int_equal(parse("test --fl --te=x --perc 5"), 0);
	assert_true(got.flag);
	assert_true(got.percent == 5);
	/* a whole name is no abbreviation of a longer one */
	assert_int_equal(parse("test --tag x"), 0);
	assert_string_equal(got.text, "x");
	assert_string_equal(
		said(STDERR_FILENO, -EINVAL, "test --ta x"),
		"cprof: ambiguous option --ta. Did you mean one of --tag, --tag-more?\n");
	/* who hides an option does not want it found */
	assert_int_equal(parse("test --hidden"), 0);
	assert_int_equal(parse("test --hid"), -EINVAL);
	assert_int_equal(parse("test --=x"), -EINVAL);
}

/* Each names the option as it was given, and what to do. */
static void test_refusals(void **state)
{
	static const struct {
		const char *line, *said;
	} rows[] = {
		{"test --unknown", "unknown option --unknown (see cprof test --help)."},
		{"test --txet=3", "unknown option --txet=3. Did you mean --text?"},
		{"test --hlep", "unknown option --hlep. Did you mean --help?"},
		{"test --elsewher", "unknown option --elsewher: --elsewhere is an option of cprof "
				    "other, not of test."},
		{"test -x", "unknown option -x (see cprof test --help)."},
		{"test -fx", "unknown option -x (see cprof test --help)."},
		{"test -f\xc3\xbc", "unknown option -\\xc3 (see cprof test --help)."},
		{"test --un\033", "unknown option --un\\x1b (see cprof test --help)."},
		{"test --text", "--text needs an argument (see cprof test --help)."},
		{"test --tex", "--text needs an argument (see cprof test --help)."},
		{"test -ft", "-t needs an argument (see cprof test --help)."},
		{"test --flag=yes", "--flag takes no argument (see cprof test --help)."},
		{"test --help=me", "--help takes no argument (see cprof test --help)."},
		{"test -n x", "-n x: not a whole number."},
		{"test --count -3", "--count -3: not a whole number."},
		{"test --list=", "--list: the value is empty."},
		{"test --base= x", "--base: the file name is empty."},
		{"test --maybe=", "--maybe: the file name is empty."},
		{"test --duration s\007on",
		 "--duration s\\x07on: not a duration such as 30s, 500ms "
		 "or 2m."},
		/* the first error ends it, --help before it does, too */
		{"test -x --help", "unknown option -x (see cprof test --help)."},
	};
	char expected[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(expected, sizeof(expected), "cprof: %s\n", rows[i].said);
		assert_string_equal(said(STDERR_FILENO, -EINVAL, rows[i].line), expected);
	}
}

static void test_help(void **state)
{
	const char *text;

	(void)state;
	text = said(STDOUT_FILENO, 1, "test -n 3 --help --unknown");
	assert_non_null(strstr(text, "usage: cprof test [options] FILE\n\nTest the parser.\n\n"));
	assert_non_null(strstr(text, "\n  -t, --text TEXT           a text\n"));
	assert_non_null(strstr(text, "\n      --maybe[=FILE]        a file or not\n"));
	assert_non_null(
		strstr(text, "\n  -h, --help                show this help\n\nOperands:\n"));
	assert_null(strstr(text, "hidden"));
	text = said(STDOUT_FILENO, 1, "test --list-options");
	assert_non_null(strstr(text, "--text\t-t\tTEXT\t-\ta text\n"));
	assert_non_null(strstr(text, "--flag\t-f\t-\t-\ta flag\n"));
	assert_null(strstr(text, "Operands"));
	assert_int_equal(parse("test --list-options x"), -EINVAL);
}

/* No line is longer than 80 columns, no word is lost, and a flag without room has a line of its own. */
static void test_wrapping(void **state)
{
	static const char words[] =
		"one two three four five six seven eight nine ten eleven twelve "
		"thirteen fourteen fifteen";
	bool flag;
	const struct arg_row rows[] = {
		{"a-name-without-any-room", 'a', ARG_FLAG, NULL, words, &flag}};
	struct args args = {
		.command = "test", .operands = "", .about = words, .rows = rows, .nr_rows = 1};
	char name[] = "test", help[] = "--help", *argv[] = {name, help, NULL}, text[2048];
	FILE *file = tmpfile();
	int kept = dup(STDOUT_FILENO);

	(void)state;
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	assert_int_equal(args_parse(&args, 2, argv), 1);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(
		text,
		"usage: cprof test [options]\n\n"
		"one two three four five six seven eight nine ten eleven twelve thirteen fourteen\n"
		"fifteen\n\n"
		"  -a, --a-name-without-any-room\n"
		"                            one two three four five six seven eight nine ten\n"
		"                            eleven twelve thirteen fourteen fifteen\n"
		"  -h, --help                show this help\n");
}

static void test_no_operands(void **state)
{
	char name[] = "test", word[] = "x", *argv[] = {name, word, NULL};
	struct args args = {.command = "test", .operands = ""};
	enum exit_code code;

	(void)state;
	assert_false(args_begin(&args, 2, argv, &code));
	assert_int_equal(code, EXIT_USAGE);
	args_release(&args);
	assert_true(args_begin(&args, 1, argv, &code));
	args_release(&args);
}

static char *find_nothing(void)
{
	return NULL;
}

static char *find_something(void)
{
	return xstrdup("found");
}

static void test_implied(void **state)
{
	const struct args_implied none = {find_nothing, "about", "nothing here"},
				  some = {find_something, "about", "nothing here"};
	char name[] = "test", *argv[] = {name, NULL};
	struct args args = {
		.command = "test", .operands = "FILE", .needs_file = true, .implied = &none};
	enum exit_code code;

	(void)state;
	assert_false(args_begin(&args, 1, argv, &code));
	assert_int_equal(code, EXIT_USAGE);
	args.implied = &some;
	assert_true(args_begin(&args, 1, argv, &code));
	assert_list(&args.operand, "found");
	args_release(&args);
}

/* The files of a command line, as diff, flame and check have them. */
static void test_files(void **state)
{
	const char *output = NULL, *report = NULL, *none = NULL, *text = NULL;
	struct arg_list base = {0}, head = {0}, outputs = {0}, inputs = {0}, written = {0};
	const struct arg_row rows[] = {
		ARG_GROUP("Files"),
		{"output", 'o', ARG_OUTPUT, "FILE", "a file", &output},
		{"outputs", 0, ARG_OUTPUTS, "FILE", "files", &outputs},
		{"json", 0, ARG_MAYBE_FILE, "FILE", "a report", &report},
		{"markdown", 0, ARG_MAYBE_FILE, "FILE", "a report", &none},
		{"base", 'b', ARG_FILES, "FILE", "files", &base},
		{"head", 0, ARG_OPERANDS, "FILE...", "files", &head},
		{"text", 0, ARG_TEXT, "TEXT", "no file", &text},
	};
	struct args args scoped(args_release) = {.command = "test",
						 .operands = "FILE...",
						 .rows = rows,
						 .nr_rows = ARRAY_SIZE(rows)};
	char *argv[] = {(char *)"test",	     (char *)"a",  (char *)"-o",
			(char *)"x",	     (char *)"-b", (char *)"b",
			(char *)"--text",    (char *)"t",  (char *)"--json",
			(char *)"j",	     (char *)"-b", (char *)"c",
			(char *)"--outputs", (char *)"y",  (char *)"--head",
			(char *)"d",	     NULL};

	(void)state;
	assert_int_equal(args_parse(&args, ARRAY_SIZE(argv) - 1, argv), 0);
	args_files(&args, &inputs, &written);
	assert_list(&inputs, "a b c d");
	assert_list(&written, "x y j");
	vec_release(&inputs);
	vec_release(&written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_kinds, release),
		cmocka_unit_test_teardown(test_operands_behind_an_option, release),
		cmocka_unit_test_teardown(test_a_file_or_none, release),
		cmocka_unit_test_teardown(test_percentages, release),
		cmocka_unit_test_teardown(test_begin, release),
		cmocka_unit_test_teardown(test_words, release),
		cmocka_unit_test_teardown(test_command, release),
		cmocka_unit_test_teardown(test_abbreviations, release),
		cmocka_unit_test_teardown(test_refusals, release),
		cmocka_unit_test_teardown(test_help, release),
		cmocka_unit_test_teardown(test_wrapping, release),
		cmocka_unit_test_teardown(test_no_operands, release),
		cmocka_unit_test_teardown(test_implied, release),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
