// SPDX-License-Identifier: BSD-2-Clause
/* record/captures: a failure to write is reported, in the middle and at the end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/captures.h"
#include "temp.h"

#define STACK_BYTES 65536

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

struct fixture {
	struct files *files;
	struct tasks *tasks;
	struct captures *captures;
	char *folder, *path;
};

static void begin(struct fixture *fixture)
{
	*fixture = (struct fixture){.files = files_new("/nonexistent"), .folder = temp_folder()};
	fixture->tasks = tasks_new("/nonexistent", fixture->files);
	fixture->path = xasprintf("%s/captures", fixture->folder);
	assert_int_equal(
		captures_open(fixture->path, fixture->tasks, fixture->files, &fixture->captures),
		0);
}

static void write_one(struct fixture *fixture)
{
	static const uint8_t stack[STACK_BYTES];
	static const uint64_t ips[] = {1, 2}, regs[UNWIND_NR_REGS];
	struct stack_copy copy = {.leaf = regs, .bytes = stack, .len_bytes = STACK_BYTES};
	struct record record = {.tgid = 5, .user_ips = ips, .nr_user = 2, .capture = &copy};

	captures_write(fixture->captures, &record, &record);
}

static void end(struct fixture *fixture)
{
	tasks_free(fixture->tasks);
	files_free(fixture->files);
	unlink(fixture->path);
	rmdir(fixture->folder);
	free(fixture->path);
	free(fixture->folder);
}

static void test_all_is_written(void **state)
{
	struct fixture fixture;
	struct stat status;

	(void)state;
	begin(&fixture);
	write_one(&fixture);
	write_one(&fixture);
	assert_int_equal(captures_close(fixture.captures), 0);
	assert_int_equal(captures_close(NULL), 0);
	assert_int_equal(stat(fixture.path, &status), 0);
	assert_int_equal(status.st_size, 2 * (sizeof(struct capture) + 16 + STACK_BYTES));
	end(&fixture);
}

/* There is no room for a while, and at the end there is again: a file with a hole is not complete. */
static void test_a_failure_in_the_middle(void **state)
{
	struct fixture fixture;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	begin(&fixture);
	limit_files(4096);
	write_one(&fixture);
	limit_files(RLIM_INFINITY);
	write_one(&fixture);
	assert_int_equal(captures_close(fixture.captures), -EFBIG);
	end(&fixture);
}

static void test_a_failure_at_the_end(void **state)
{
	struct fixture fixture;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	begin(&fixture);
	write_one(&fixture);
	limit_files(4096);
	write_one(&fixture);
	assert_int_equal(captures_close(fixture.captures), -EFBIG);
	limit_files(RLIM_INFINITY);
	end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_written),
		cmocka_unit_test(test_a_failure_in_the_middle),
		cmocka_unit_test(test_a_failure_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
