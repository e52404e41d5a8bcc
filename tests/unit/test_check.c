// SPDX-License-Identifier: BSD-2-Clause
/* cprof check as a command: its exit codes, each of which a CI job builds on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "exit.h"
#include "judge.h"
#include "profile_case.h"
#include "temp.h"

static char *folder;
static char said[1 << 16]; /* on stdout */

static void write_run(const char *name, int number, int a, int b)
{
	struct profile *profile = case_new("samples/count cpu/nanoseconds");
	char *path = xasprintf("%s/%s%d.pb.gz", folder, name, number);

	profile->time_ns = number + 1000 * name[0];
	case_add(profile, "main;a", "", a, a * 1000000);
	case_add(profile, "main;b", "", b, b * 1000000);
	judge_write(profile, path);
	profile_free(profile);
	free(path);
}

static int setup(void **state)
{
	(void)state;
	folder = temp_folder();
	for (int i = 0; i < 3; i++) {
		write_run("base", i, 1000 + 10 * i, 500 - 5 * i);
		write_run("same", i, 1000 - 10 * i, 500 + 5 * i);
		write_run("worse", i, 1000 + 10 * i, 900 + 5 * i);
	}
	return chdir(folder);
}

static int teardown(void **state)
{
	(void)state;
	free(folder);
	return 0;
}

/* Runs "check ..." given as one string, in a process of its own: it gives up what a process cannot have back. */
static int check(const char *line)
{
	char *copy scoped(freep) = xasprintf("check %s", line), *argv[64];
	int argc = 0, status, file = open("stdout", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t len;
	pid_t pid;

	for (char *word = strtok(copy, " "); word && argc < 63; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(file, STDOUT_FILENO);
		status = cmd_check(argc, argv);
		fflush(stdout);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	len = pread(file, said, sizeof(said) - 1, 0);
	said[len > 0 ? len : 0] = '\0';
	close(file);
	return WEXITSTATUS(status);
}

#define BASE  "--base base0.pb.gz base1.pb.gz base2.pb.gz "
#define SAME  "--head same0.pb.gz same1.pb.gz same2.pb.gz "
#define WORSE "--head worse0.pb.gz worse1.pb.gz worse2.pb.gz "

static void test_verdicts(void **state)
{
	(void)state;
	assert_int_equal(check(BASE SAME), EXIT_DONE);
	assert_non_null(strstr(said, "\nverdict: pass\n"));
	assert_int_equal(check(BASE WORSE), EXIT_REGRESSION);
	assert_non_null(strstr(said, "\nverdict: regression\n"));
	assert_int_equal(check(BASE WORSE "--max-growth 90% --max-delta 0.5pp"), EXIT_DONE);
	assert_int_equal(check(BASE WORSE "--json -"), EXIT_REGRESSION);
	assert_int_equal(strncmp(said, "{\"verdict\":\"regression\",", 24), 0);
	assert_int_equal(check(BASE WORSE "--sample-type samples --as share --measure flat"),
			 EXIT_REGRESSION);
	assert_null(strstr(said, " cum "));
}

static void test_inconclusive(void **state)
{
	(void)state;
	assert_int_equal(check(BASE WORSE "--min-samples 100000"), EXIT_NOTHING);
	assert_non_null(strstr(said, "verdict: inconclusive"));
	assert_int_equal(check(BASE WORSE "--min-samples 100000 --inconclusive=pass"), EXIT_DONE);
	assert_int_equal(check(BASE "--head base0.pb.gz same1.pb.gz"), EXIT_NOTHING);
	assert_int_equal(check("--base base0.pb.gz --head same0.pb.gz"), EXIT_NOTHING);
	assert_int_equal(check("--base base0.pb.gz --head same0.pb.gz --single"), EXIT_DONE);
	assert_non_null(strstr(said, "weak:"));
	/* what passes inconclusive results does not pass regressions */
	assert_int_equal(check(BASE WORSE "--inconclusive=pass"), EXIT_REGRESSION);
}

static void test_missing_baseline(void **state)
{
	(void)state;
	/* a glob that matched nothing is a baseline that is missing; no --base at all is a mistake */
	assert_int_equal(check("--base " SAME), EXIT_NOTHING);
	assert_non_null(
		strstr(said, "inconclusive: base has no profiles: give them with --base\n"));
	assert_int_equal(check(SAME), EXIT_USAGE);
	assert_int_equal(check(SAME "--allow-missing-baseline"), EXIT_DONE);
	assert_int_equal(check("--base none.pb.gz " SAME), EXIT_NOTHING);
	assert_int_equal(check("--base none.pb.gz " SAME "--allow-missing-baseline"), EXIT_DONE);
	/* some are there: that is no first run */
	assert_int_equal(check("--base base0.pb.gz none.pb.gz " SAME "--allow-missing-baseline"),
			 EXIT_USAGE);
	/* nor may a head that cannot be read pass */
	assert_int_equal(check("--head none.pb.gz --allow-missing-baseline"), EXIT_USAGE);
}

static void test_usage(void **state)
{
	(void)state;
	assert_int_equal(check(""), EXIT_USAGE);
	assert_int_equal(check(BASE), EXIT_USAGE);
	assert_int_equal(check("base0.pb.gz same0.pb.gz"), EXIT_USAGE);
	assert_int_equal(check(BASE SAME "--as magic"), EXIT_USAGE);
	assert_int_equal(check(BASE SAME "--alpha 2"), EXIT_USAGE);
	assert_int_equal(check(BASE SAME "--rename nothing"), EXIT_USAGE);
	assert_int_equal(check(BASE SAME "--inconclusive=maybe"), EXIT_USAGE);
	assert_int_equal(check(BASE SAME "--sample-type nope"), EXIT_USAGE);
	assert_int_equal(check(BASE SAME "--json /nonexistent/x"), EXIT_USAGE);
	assert_int_equal(check(BASE SAME "--markdown /nonexistent/x"), EXIT_USAGE);
	assert_int_equal(check("--base stdout --head same0.pb.gz"), EXIT_USAGE);
}

static void test_reports(void **state)
{
	static const char *const reports[][2] = {{"--json", "{\"verdict\":\"regression\","},
						 {"--markdown", "#"},
						 {"--junit", "<?xml"},
						 {"--sarif", "{\"$schema\""}};

	(void)state;
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		const char *option = reports[i][0], *begin = reports[i][1];
		char *bare scoped(freep) = xasprintf("%s %s" WORSE, option, BASE);
		char *dash scoped(freep) = xasprintf("%s%s%s -", BASE, WORSE, option);
		char *file scoped(freep) = xasprintf("%s%s%s=named", BASE, WORSE, option);
		char *word scoped(freep) = xasprintf("%s%s%s word", BASE, WORSE, option);

		/* in place of the table */
		assert_int_equal(check(bare), EXIT_REGRESSION);
		assert_memory_equal(said, begin, strlen(begin));
		assert_int_equal(check(dash), EXIT_REGRESSION);
		assert_memory_equal(said, begin, strlen(begin));
		/* besides it */
		assert_int_equal(check(file), EXIT_REGRESSION);
		assert_non_null(strstr(said, "\nverdict: regression\n"));
		assert_int_equal(access("named", F_OK), 0);
		assert_int_equal(unlink("named"), 0);
		assert_int_equal(check(word), EXIT_REGRESSION);
		assert_int_equal(unlink("word"), 0);
	}
	assert_int_equal(check(BASE WORSE "--json --markdown"), EXIT_USAGE);
	assert_int_equal(check(BASE WORSE "--json --github"), EXIT_USAGE);
	assert_int_equal(check(BASE WORSE "--json --markdown=named --github"), EXIT_USAGE);
	assert_int_equal(access("named", F_OK), -1);
	assert_int_equal(check(BASE WORSE "--markdown="), EXIT_USAGE);
}

static void test_markdown_is_appended(void **state)
{
	FILE *stream = fopen("summary.md", "w");
	char text[64] = "";

	(void)state;
	assert_non_null(stream);
	fputs("old", stream);
	fclose(stream);
	assert_int_equal(check(BASE SAME "--markdown summary.md"), EXIT_DONE);
	stream = fopen("summary.md", "r");
	assert_int_equal(fread(text, 1, sizeof(text) - 1, stream), sizeof(text) - 1);
	fclose(stream);
	assert_int_equal(strncmp(text, "old### cprof check: pass\n", 25), 0);
}

static void test_self_test(void **state)
{
	(void)state;
	assert_int_equal(check("--self-test base0.pb.gz base1.pb.gz base2.pb.gz same0.pb.gz "
			       "same1.pb.gz same2.pb.gz"),
			 EXIT_DONE);
	assert_non_null(strstr(said, "self-test: 0 of 200 random splits of these 6 runs"));
	/* two kinds of runs, of which a split may get all of one on one side */
	assert_int_equal(check("--self-test base0.pb.gz base1.pb.gz worse0.pb.gz worse1.pb.gz"),
			 EXIT_NOTHING);
	assert_non_null(strstr(said, "times: b\n"));
	assert_int_equal(check("--self-test base0.pb.gz base1.pb.gz"), EXIT_USAGE);
	assert_int_equal(
		check("--json --self-test base0.pb.gz base1.pb.gz same0.pb.gz same1.pb.gz"),
		EXIT_USAGE);
	assert_int_equal(check("--self-test base0.pb.gz base1.pb.gz base2.pb.gz base0.pb.gz"),
			 EXIT_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_inconclusive),
		cmocka_unit_test(test_missing_baseline),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_markdown_is_appended),
		cmocka_unit_test(test_self_test),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
