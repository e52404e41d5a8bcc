// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files below a process's root, in a folder that looks like /proc: what a path there may lead to, and whose perf map is
 * believed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "process/beneath.h"
#include "temp.h"

#define TGID 42

static char *proc_root;

static void run(const char *command)
{
	char *all scoped(freep) = xasprintf("cd %s/%d/root && { %s; }", proc_root, TGID, command);

	if (system(all))
		fail_msg("failed: %s", command);
}

/* 0 if it opens and has these bytes. */
static int opens(const char *path, const char *expected)
{
	int fd scoped(closep) = beneath_open(proc_root, TGID, path);
	char bytes[64] = "";

	if (fd < 0)
		return fd;
	assert_true(read(fd, bytes, sizeof(bytes) - 1) >= 0);
	assert_string_equal(bytes, expected);
	return 0;
}

static void test_paths(void **state)
{
	(void)state;
	run("mkdir -p usr/lib/debug && echo inside >usr/lib/debug/x && mkfifo usr/fifo && : "
	    ">usr/empty && "
	    "ln -s /etc absolute && ln -s usr relative && ln -s /etc/hostname usr/link && "
	    "ln -s debug/x usr/lib/y");
	assert_int_equal(opens("/usr/lib/debug/x", "inside\n"), 0);
	assert_int_equal(opens("//usr///lib/debug/x", "inside\n"), 0);
	assert_int_equal(opens("/usr/lib/debug/none", ""), -ENOENT);
	assert_int_equal(opens("/usr/none/x", ""), -ENOENT);
	assert_int_equal(opens("/usr/../usr/lib/debug/x", ""), -ENOENT);
	assert_int_equal(opens("/../../../etc/hostname", ""), -ENOENT);
	assert_int_equal(opens("/absolute/hostname", ""), -ENOTDIR);
	assert_int_equal(opens("/relative/lib/debug/x", ""), -ENOTDIR);
	assert_int_equal(opens("/usr/link", ""), -ENOTSUP);
	assert_int_equal(opens("/usr/lib/y", ""), -ENOTSUP);
	assert_int_equal(opens("/usr/fifo", ""), -ENOTSUP);
	assert_int_equal(opens("/usr/empty", ""), -ENOTSUP);
	assert_int_equal(opens("/usr/lib", ""), -ENOTSUP);
	assert_int_equal(opens("/", ""), -ENOENT);
}

static void write_status(unsigned int uid, const char *ns_pid)
{
	char *path scoped(freep) = xasprintf("%s/%d/status", proc_root, TGID);
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fprintf(out, "Name:\tx\nUid:\t%u\t%u\t%u\t%u\n%s", uid, uid, uid, uid, ns_pid);
	fclose(out);
}

static int open_map(void)
{
	int fd scoped(closep) = beneath_open_perf_map(proc_root, TGID);

	return fd < 0 ? fd : 0;
}

static void test_perf_map(void **state)
{
	unsigned int own = geteuid();

	(void)state;
	run("mkdir tmp && echo 1000 10 f >tmp/perf-7.map && echo 1000 10 g >tmp/perf-42.map");
	write_status(own, "NSpid:\t42\t7\n");
	assert_int_equal(open_map(), 0);
	write_status(own, "NSpid:\t42\t9\n");
	assert_int_equal(open_map(), -ENOENT);
	run(": >tmp/perf-9.map"); /* nothing is written yet */
	assert_int_equal(open_map(), 0);
	write_status(own, "");
	assert_int_equal(open_map(), -ESRCH);
	if (own) {
		write_status(own + 1, "NSpid:\t42\t7\n");
		assert_int_equal(open_map(), -EPERM);
		return;
	}
	write_status(1234, "NSpid:\t42\t7\n"); /* root's is believed, another user's is not */
	assert_int_equal(open_map(), 0);
	run("chown 4321 tmp/perf-7.map");
	assert_int_equal(open_map(), -EPERM);
	run("chown 1234 tmp/perf-7.map");
	assert_int_equal(open_map(), 0);
	run("mv tmp/perf-7.map tmp/other && ln -s other tmp/perf-7.map");
	assert_int_equal(open_map(), -ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_perf_map),
	};
	char *root scoped(freep) = NULL;

	proc_root = temp_folder();
	root = xasprintf("mkdir -p %s/%d/root", proc_root, TGID);
	if (system(root))
		abort();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
