// SPDX-License-Identifier: BSD-2-Clause
/* On a made-up /proc: a process that was not sampled waited for a CPU, ran too short, slept, or was kept from running. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "record/nosamples.h"
#include "temp.h"

#define TGID 7
#define MSEC (NSEC_PER_SEC / 1000)

static char *root;

static void write_below(const char *folder, const char *name, const char *text)
{
	char *path scoped(freep) = xasprintf("%s%s/%s", root, folder, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void write_file(const char *name, const char *text)
{
	write_below("/7/task/7", name, text);
}

static void set(char state, uint64_t run_ns, uint64_t wait_ns, unsigned int nr_sleeps)
{
	char *schedstat scoped(freep) =
		xasprintf("%llu %llu 9\n", (unsigned long long)run_ns, (unsigned long long)wait_ns);
	char *status scoped(freep) =
		xasprintf("Name:\tRather\nState:\t%c (x)\nnonvoluntary_ctxt_switches:\t5\n"
			  "voluntary_ctxt_switches:\t%u\n",
			  state, nr_sleeps);

	write_file("schedstat", schedstat);
	write_file("status", status);
}

static int set_up(void **state)
{
	static const char *const parts[] = {
		"",
		"/7",
		"/7/task",
		"/7/task/7",
		"/groups",
		"/groups/a",
		"/groups/a/b\033",
		"/groups/freezer",
		"/groups/freezer/v1",
		"/groups/freezer/v1/below",
		"/outside",
	};

	(void)state;
	root = temp_path("proc");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		char *path scoped(freep) = xasprintf("%s%s", root, parts[i]);

		mkdir(path, 0755);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(root);
	return 0;
}

static void says(const struct nosamples *nosamples, const char *expected)
{
	char words[512];

	nosamples_words(nosamples, NSEC_PER_SEC, words, sizeof(words));
	if (!strstr(words, expected))
		fail_msg("\"%s\" does not say \"%s\"", words, expected);
}

/* The kernel accounts for a wait when it is over: of one that goes on nothing is to be seen. */
static void test_starved_all_the_time(void **state)
{
	struct nosamples nosamples;

	(void)state;
	set('R', 5 * MSEC, 40 * MSEC, 3);
	nosamples_begin(&nosamples, root, TGID, false);
	says(&nosamples, "it waited for a CPU for 1.0 s while others ran, and ran for 0.0 ms");
	/* it ran for a moment after 0.1 s, and the wait that ended then is accounted for */
	set('R', 205 * MSEC, 140 * MSEC, 3);
	says(&nosamples, "it waited for a CPU for 0.8 s while others ran, and ran for 200.0 ms");
	nosamples_release(&nosamples);
}

/* It waited for a minute before it was sampled, for 0.3 s of this time, and sleeps since. */
static void test_a_wait_from_before_counts_in_part(void **state)
{
	struct nosamples nosamples;

	(void)state;
	set('R', 5 * MSEC, 0, 3);
	nosamples_begin(&nosamples, root, TGID, false);
	set('S', 6 * MSEC, 60 * NSEC_PER_SEC, 4);
	says(&nosamples, "waited for a CPU for 1.0 s");
	nosamples_release(&nosamples);
}

static void test_asleep(void **state)
{
	struct nosamples nosamples;

	(void)state;
	set('S', 5 * MSEC, 40 * MSEC, 3);
	nosamples_begin(&nosamples, root, TGID, false);
	says(&nosamples, "(idle or waiting)");
	set('R', 15 * MSEC, 41 * MSEC, 5);
	says(&nosamples, "it ran for 10.0 ms, between ticks");
	nosamples_release(&nosamples);
}

/* What keeps the target from running: "" with nothing. */
static void is_halted(const char *expected)
{
	char *groups scoped(freep) = xasprintf("%s/groups", root);
	struct nosamples nosamples;
	char words[NOSAMPLES_BYTES];

	set('S', 5 * MSEC, 40 * MSEC, 3);
	nosamples_begin(&nosamples, root, TGID, false);
	nosamples.cgroup_root = groups;
	nosamples_halted(&nosamples, words, sizeof(words));
	if (*expected ? !strstr(words, expected) : *words)
		fail_msg("\"%s\" does not say \"%s\"", words, expected);
	says(&nosamples, *expected ? words : "(idle or waiting)");
	nosamples_release(&nosamples);
}

static void test_stopped(void **state)
{
	(void)state;
	write_below("/7", "stat", "7 (Rather) T 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0");
	is_halted("it is stopped (SIGSTOP or a debugger), kill -CONT 7 lets it go on");
	write_below("/7", "stat", "7 (Rather) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0");
	is_halted("");
}

/* The group itself, or one above it; the name of a group may hold anything. */
static void test_frozen(void **state)
{
	(void)state;
	write_below("/7", "stat", "7 (Rather) T 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0");
	write_below("/7", "cgroup", "4:memory:/freezer/v1\n0::/a/b\033\n");
	write_below("/groups/a/b\033", "cgroup.freeze", "1\n");
	write_below("/groups/a", "cgroup.freeze", "0\n");
	is_halted("it is frozen by its control group, 0 written to ");
	is_halted("/groups/a/b\\x1b/cgroup.freeze lets it go on");
	write_below("/groups/a/b\033", "cgroup.freeze", "0\n");
	is_halted("it is stopped");
	write_below("/groups/a", "cgroup.freeze", "1\n");
	is_halted("/groups/a/cgroup.freeze lets it go on");
}

static void test_frozen_by_version_1(void **state)
{
	(void)state;
	write_below("/7", "stat", "7 (Rather) D 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0");
	write_below("/7", "cgroup", "6:cpu,freezer:/v1/below\n4:memory:/\n0::/\n");
	write_below("/groups/freezer/v1/below", "freezer.self_freezing", "0\n");
	write_below("/groups/freezer/v1", "freezer.self_freezing", "1\n");
	is_halted("it is frozen by its control group, THAWED written to ");
	is_halted("/groups/freezer/v1/freezer.state lets it go on");
	write_below("/groups/freezer/v1", "freezer.self_freezing", "0\n");
	is_halted("");
}

/* What is outside of cprof's namespace is no file of the kernel's by that path. */
static void test_outside_of_the_namespace(void **state)
{
	(void)state;
	write_below("/7", "stat", "7 (Rather) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0");
	write_below("/outside", "cgroup.freeze", "1\n");
	write_below("/7", "cgroup", "0::/../outside\n");
	is_halted("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_starved_all_the_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_wait_from_before_counts_in_part, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_asleep, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stopped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_frozen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_frozen_by_version_1, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_outside_of_the_namespace, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
