// SPDX-License-Identifier: BSD-2-Clause
/* What is known of code when the time for lines is up, and afterwards. The code is this program's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbolize/codenames.h"
#include "unit/parser_case.h"

extern const char __executable_start;

static struct {
	int fd;
	bool is_hurried;
	unsigned int nr_opened, hurries_at;
} own;

__attribute__((noinline, used)) static int a_known_function(int x)
{
	return x * 3 + 1;
}

static bool is_hurried(void)
{
	return own.is_hurried;
}

/* A file is opened for each of the two questions about it: for names, and for lines. */
static int fd_of(void *ctx, uint32_t file)
{
	(void)ctx;
	assert_int_equal(file, 0);
	if (++own.nr_opened == own.hurries_at)
		own.is_hurried = true;
	return own.fd;
}

static const char *path_of(const void *ctx, uint32_t file)
{
	(void)ctx;
	(void)file;
	return "";
}

static int open_nothing(void *ctx, const char *path)
{
	(void)ctx;
	(void)path;
	return -ENOENT;
}

static int open_nothing_beneath(void *ctx, uint32_t file, const char *path)
{
	(void)file;
	return open_nothing(ctx, path);
}

static void test_names_stay(void **state)
{
	const struct codefiles files = {.fd = fd_of,
					.path = path_of,
					.open = open_nothing,
					.beneath = open_nothing_beneath};
	uint64_t elf_addr = (uintptr_t)a_known_function - (uintptr_t)&__executable_start;
	struct parser *parser = parser_case_open();
	struct strtab strings = {0};
	struct codenames *names = codenames_new(&files, parser, &strings);
	struct codename name;

	(void)state;
	codenames_hurry_when(names, is_hurried);
	codenames_until(names, clock_monotonic_ns() + 3600 * NSEC_PER_SEC);
	assert_non_null(codenames_file(names, 0));
	own.hurries_at = own.nr_opened + 2;
	name = codenames_find(names, 0, elf_addr);
	assert_true(own.is_hurried);
	assert_int_equal(name.state, CODENAME_SYMBOL);
	assert_string_equal(strtab_get(&strings, name.display), "a_known_function");
	assert_int_equal(name.nr_frames, 0);
	assert_true(name.is_cut);

	own.is_hurried = false;
	own.hurries_at = 0;
	name = codenames_find(names, 0, elf_addr);
	assert_string_equal(strtab_get(&strings, name.display), "a_known_function");
	assert_int_equal(name.nr_frames, 1);
	assert_int_not_equal(codenames_frames(names, name.frames)->line, 0);
	assert_false(name.is_cut);
	codenames_free(names);
	strtab_release(&strings);
	parser_close(parser);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_names_stay)};

	own.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
