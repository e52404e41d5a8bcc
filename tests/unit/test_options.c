// SPDX-License-Identifier: BSD-2-Clause
/* The options of record and heap: defaults, combinations, and refusals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "options.h"

/* Parses "record -p 1 ..." given as one string; argv stays in static storage. */
static int parse(const char *line, enum options_command command, struct options *options)
{
	static char copy[512];
	static char *argv[32];
	int argc = 0;

	strncpy(copy, line, sizeof(copy) - 1);
	for (char *word = strtok(copy, " "); word && argc < 31; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return options_parse(argc, argv, command, options);
}

static void test_defaults(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(parse("record -p 42", OPTIONS_RECORD, &options), 0);
	assert_int_equal(options.spec.pids.nr, 1);
	assert_int_equal(options.spec.pids.at[0], 42);
	assert_int_equal(options.frequency_hz, 99);
	assert_true(options.kernel_stacks && options.follow_forks);
	assert_false(options.threads || options.all || options.verbose);
	assert_int_equal(options.duration_ns, 0);
	assert_null(options.output);
	assert_null(options.child_argv);
	options_release(&options);
	assert_int_equal(parse("heap -a", OPTIONS_HEAP, &options), 0);
	assert_int_equal(options.rate_bytes, 524288);
	assert_false(options.allocs_only);
	assert_true(options.all);
	options_release(&options);
}

static void test_everything(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(parse("record -p 1,2,3 -F 199 -d 500ms -o x.pb.gz -t --no-kernel -v "
			       "--limit counts=16 --limit slots=1",
			       OPTIONS_RECORD, &options),
			 0);
	assert_int_equal(options.spec.pids.nr, 3);
	assert_int_equal(options.spec.pids.at[2], 3);
	assert_int_equal(options.frequency_hz, 199);
	assert_int_equal(options.duration_ns, NSEC_PER_SEC / 2);
	assert_string_equal(options.output, "x.pb.gz");
	assert_true(options.threads && options.verbose && !options.kernel_stacks);
	assert_int_equal(options.limits.counts, 16);
	assert_int_equal(options.limits.slots, 1);
	options_release(&options);
}

static void test_peak_and_leaks(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(parse("heap -a --peak", OPTIONS_HEAP, &options), 0);
	assert_int_equal(options.views, OPTIONS_VIEW_PEAK);
	options_release(&options);
	assert_int_equal(parse("heap -a --peak --inuse", OPTIONS_HEAP, &options), 0);
	assert_int_equal(options.views, OPTIONS_VIEW_PEAK | OPTIONS_VIEW_INUSE);
	options_release(&options);
	assert_int_equal(parse("heap -a --peak --alloc-only", OPTIONS_HEAP, &options), -EINVAL);
	options_release(&options);
	assert_int_equal(parse("heap -a --leak-age 90s", OPTIONS_HEAP, &options), 0);
	assert_int_equal(options.views, OPTIONS_VIEW_LEAKS);
	assert_int_equal(options.leak_age_ns, 90 * NSEC_PER_SEC);
	options_release(&options);
	assert_int_equal(parse("heap -a --leaks --alloc-only", OPTIONS_HEAP, &options), -EINVAL);
	options_release(&options);
}

static void test_views(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(parse("heap -a", OPTIONS_HEAP, &options), 0);
	assert_int_equal(options.views, OPTIONS_VIEW_ALL);
	assert_int_equal(options.targets.nr, 1);
	assert_string_equal(options.targets.at[0].format->name, "proto");
	assert_null(options.targets.at[0].file);
	options_release(&options);

	/* A delta by itself ends the run, in a series it does not. */
	assert_int_equal(parse("heap -a --delta 5s", OPTIONS_HEAP, &options), 0);
	assert_int_equal(options.views, OPTIONS_VIEW_DELTA);
	assert_int_equal(options.duration_ns, 5 * NSEC_PER_SEC);
	options_release(&options);
	assert_int_equal(parse("heap -a --views --delta 5s -d 1m --interval 2s --errors "
			       "--format text,proto --format text",
			       OPTIONS_HEAP, &options),
			 0);
	assert_int_equal(options.views, OPTIONS_VIEW_ALL | OPTIONS_VIEW_INUSE | OPTIONS_VIEW_ALLOC |
						OPTIONS_VIEW_DELTA);
	assert_int_equal(options.delta_ns, 5 * NSEC_PER_SEC);
	assert_int_equal(options.duration_ns, 60 * NSEC_PER_SEC);
	assert_int_equal(options.interval_ns, 2 * NSEC_PER_SEC);
	assert_true(options.errors);
	assert_int_equal(options.targets.nr, 2);
	assert_string_equal(options.targets.at[0].format->name, "text");
	assert_string_equal(options.targets.at[1].format->name, "proto");
	options_release(&options);
}

/* What an -o is called says what it is to be. */
static void test_outputs(void **state)
{
	static const struct {
		const char *file, *format;
	} expected[] = {{"x.pb.gz", "proto"},	   {"x.pb", "proto-plain"},
			{"x.folded", "folded"},	   {"x.speedscope.json", "speedscope"},
			{"x.gecko.json", "gecko"}, {"x.heap", "legacy"},
			{"x.data", "proto"},	   {"x", "proto"}};
	struct options options;

	(void)state;
	assert_int_equal(parse("record -a -o x.pb.gz -o x.pb -o x.folded -o x.speedscope.json "
			       "-o x.gecko.json -o x.heap -o x.data -o x",
			       OPTIONS_RECORD, &options),
			 0);
	assert_string_equal(options.output, "x.pb.gz");
	assert_int_equal(options.targets.nr, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < options.targets.nr; i++) {
		assert_string_equal(options.targets.at[i].file, expected[i].file);
		assert_string_equal(options.targets.at[i].format->name, expected[i].format);
	}
	options_release(&options);
	assert_int_equal(parse("record -a -o x.json", OPTIONS_RECORD, &options), -EINVAL);
	options_release(&options);
}

/* Whatever formats, whatever -o is called: a file's name never says that it is of another format. */
static void test_formats_and_a_name(void **state)
{
	static const struct {
		const char *line;
		int named; /* which of the formats has the name as it stands; -1: none */
	} expected[] = {
		{"heap -a -o q.pb.gz --format legacy,proto", 1},
		{"heap -a -o q.pb.gz --format proto,legacy", 0},
		{"heap -a -o q.pb.gz --format legacy", -1},
		{"heap -a -o q.pb.gz --format legacy,text", -1},
		{"heap -a -o x.heap --format proto,legacy", 1},
		{"heap -a -o x.heap --format proto", -1},
		{"heap -a -o x.txt --format legacy,folded,text", 2},
		{"heap -a -o x.folded.txt --format text,folded", 1},
		{"heap -a -o x.gz --format legacy,proto", 1},
		{"heap -a -o x.pb --format proto", -1},
		{"heap -a -o x.prof --format legacy,proto", 0},
		{"heap -a -o x --format svg", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct options options;

		assert_int_equal(parse(expected[i].line, OPTIONS_HEAP, &options), 0);
		for (int j = 0; j < (int)options.targets.nr; j++) {
			if (j == expected[i].named)
				assert_string_equal(options.targets.at[j].file, options.output);
			else
				assert_null(options.targets.at[j].file);
		}
		options_release(&options);
	}
}

/* What follows the command's name is the command's, dashes or not. */
static void test_command(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(parse("heap --rate 1 --alloc-only -- ls -a -p", OPTIONS_HEAP, &options),
			 0);
	assert_string_equal(options.child_argv[0], "ls");
	assert_string_equal(options.child_argv[2], "-p");
	assert_null(options.child_argv[3]);
	assert_int_equal(options.rate_bytes, 1);
	assert_true(options.allocs_only);
	assert_false(options.follow_forks);
	/* in-use values are 0: without another wish, they are not shown */
	assert_int_equal(options.views, OPTIONS_VIEW_ALLOC);
	options_release(&options);
	assert_int_equal(parse("heap --alloc-only --delta 1s -a", OPTIONS_HEAP, &options), 0);
	assert_int_equal(options.views, OPTIONS_VIEW_DELTA);
	options_release(&options);
	assert_int_equal(parse("heap --follow-fork -p 1", OPTIONS_HEAP, &options), 0);
	assert_true(options.follow_forks);
	options_release(&options);
	assert_int_equal(parse("record sleep -v", OPTIONS_RECORD, &options), 0);
	assert_string_equal(options.child_argv[1], "-v");
	assert_false(options.verbose);
	assert_true(options.child_is_target);
	options_release(&options);
}

/* With others to profile it says how long to. */
static void test_command_beside_targets(void **state)
{
	static const char *const lines[] = {"record -a -- ls", "record -p 1 -- ls",
					    "record --comm x -- ls", "record -a ls"};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct options options;

		assert_int_equal(parse(lines[i], OPTIONS_RECORD, &options), 0);
		assert_string_equal(options.child_argv[0], "ls");
		assert_false(options.child_is_target);
		options_release(&options);
	}
}

static void test_refusals(void **state)
{
	static const struct {
		enum options_command command;
		const char *line;
	} bad[] = {
		{OPTIONS_RECORD, "record"},
		{OPTIONS_RECORD, "record -p 1 -a"},
		{OPTIONS_RECORD, "record -p 1 -a -- ls"},
		{OPTIONS_HEAP, "heap --mode inside -a -- ls"},
		{OPTIONS_RECORD, "record -p 1,,2"},
		{OPTIONS_RECORD, "record -p 0"},
		{OPTIONS_RECORD, "record -p -1"},
		{OPTIONS_RECORD, "record -p 1,,x"},
		{OPTIONS_RECORD, "record -p x,"},
		{OPTIONS_HEAP, "heap -p 1 --no-children"},
		{OPTIONS_RECORD, "record -a -o - --interval 1s"},
		{OPTIONS_RECORD, "record -a -o - --format proto,folded"},
		{OPTIONS_HEAP, "heap -a -o - --views"},
		{OPTIONS_HEAP, "heap -a -o - --delta 1s -d 2s"},
		{OPTIONS_RECORD, "record -p 99999999999"},
		{OPTIONS_RECORD, "record -a -F 0"},
		{OPTIONS_RECORD, "record -a -F 99.5"},
		{OPTIONS_RECORD, "record -a -F 999999999"},
		{OPTIONS_RECORD, "record -a -d soon"},
		{OPTIONS_RECORD, "record -a -d"},
		{OPTIONS_RECORD, "record -a --rate 5"},
		{OPTIONS_RECORD, "record -a --nonsense"},
		{OPTIONS_RECORD, "record -a -x"},
		{OPTIONS_HEAP, "heap -a --rate 0"},
		{OPTIONS_HEAP, "heap -a --rate 1k"},
		{OPTIONS_HEAP, "heap -a -F 99"},
		{OPTIONS_RECORD, "record -a --alloc-only"},
		{OPTIONS_RECORD, "record -p 1 --follow-fork"},
		{OPTIONS_HEAP, "heap -a --limit frobs=1"},
		{OPTIONS_HEAP, "heap -a --limit live"},
		{OPTIONS_HEAP, "heap -a --format"},
		{OPTIONS_HEAP, "heap -a --format pdf"},
		{OPTIONS_HEAP, "heap -a --format proto,"},
		{OPTIONS_HEAP, "heap -a --delta never"},
		{OPTIONS_HEAP, "heap -a --delta 0"},
		{OPTIONS_HEAP, "heap -a --delta 2s -d 1s"},
		{OPTIONS_HEAP, "heap -a --interval -1s"},
		{OPTIONS_RECORD, "record -a --inuse"},
		{OPTIONS_RECORD, "record -a -o a.folded -o a.pb --format text"},
		{OPTIONS_RECORD, "record -a -o a.folded -o a.folded"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct options options;

		assert_int_equal(parse(bad[i].line, bad[i].command, &options), -EINVAL);
		options_release(&options);
	}
}

static void test_whom(void **state)
{
	struct targetspec spec = {0};
	struct options options;

	(void)state;
	assert_int_equal(targetspec_parse("12 7,\t8 , nginx,/usr/bin/x y\n", &spec), 0);
	assert_int_equal(spec.pids.nr, 3);
	assert_int_equal(spec.pids.at[2], 8);
	assert_int_equal(spec.names.nr, 3);
	assert_string_equal(spec.names.at[0], "nginx");
	assert_string_equal(spec.names.at[1], "/usr/bin/x");
	assert_string_equal(spec.names.at[2], "y");
	targetspec_release(&spec);

	/* As the shell makes it of -p $(pidof many). */
	assert_int_equal(parse("record -p 12 7 8 -d 1s --no-children", OPTIONS_RECORD, &options),
			 0);
	assert_int_equal(options.spec.pids.nr, 3);
	assert_int_equal(options.duration_ns, NSEC_PER_SEC);
	assert_false(options.follow_forks || targetspec_filters(&options.spec));
	options_release(&options);
	assert_int_equal(parse("heap --uid 0 --comm x --comm y", OPTIONS_HEAP, &options), 0);
	assert_int_equal(options.spec.filters[TARGETSPEC_COMM].nr, 2);
	assert_true(targetspec_filters(&options.spec) && !targetspec_names(&options.spec) &&
		    !options.all);
	options_release(&options);
	assert_int_equal(parse("heap -a -o - --delta 1s", OPTIONS_HEAP, &options), 0);
	options_release(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_peak_and_leaks),
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_outputs),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_whom),
		cmocka_unit_test(test_command_beside_targets),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_formats_and_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
