// SPDX-License-Identifier: BSD-2-Clause
/* The memory of a process by kind, from what procfs_memory() tells. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "process/procfs.h"
#include "record/resident.h"

static void test_kinds(void **state)
{
	struct resident resident;

	(void)state;
	assert_true(resident_read("VmPeak = 9 kB\nVmRSS = 6 kB\nRssAnon = 3 kB\nRssFile = 2 kB\n"
				  "RssShmem = 1 kB\nVmSwap = 7 kB\n",
				  &resident));
	assert_int_equal(resident.rss, 6 * 1024);
	assert_int_equal(resident.anon, 3 * 1024);
	assert_int_equal(resident.file, 2 * 1024);
	assert_int_equal(resident.shmem, 1024);
	assert_int_equal(resident.swap, 7 * 1024);
	assert_false(resident_read("VmRSS = 6 kB\nRssAnon = 3 kB\n", &resident));
	assert_false(resident_read("", &resident));
	assert_false(resident_read("xVmRSS = 6 kB", &resident));
}

static void test_own(void **state)
{
	struct resident resident;
	char *text;

	(void)state;
	assert_int_equal(procfs_memory("/proc", getpid(), &text), 0);
	assert_true(resident_read(text, &resident));
	assert_true(resident.rss > 0 && resident.anon > 0 && resident.file > 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
