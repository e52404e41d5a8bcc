// SPDX-License-Identifier: BSD-2-Clause
/* On a made-up /proc: a process that was not sampled waited for a CPU, ran too short, or slept. */
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

static void write_file(const char *name, const char *text)
{
	char *path scoped(freep) = xasprintf("%s/%d/task/%d/%s", root, TGID, TGID, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
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
	static const char *const parts[] = {"", "/7", "/7/task", "/7/task/7"};

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_starved_all_the_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_wait_from_before_counts_in_part, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_asleep, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
