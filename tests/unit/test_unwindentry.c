/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry point of a program that describes it nowhere is where stacks end; what else no FDE
 * describes stays a gap. Judged on this machine's ld.so, whose _start is such code, and on ourselves,
 * whose _start the C library describes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "object/elf.h"
#include "unwind/tablebuild.h"

/* The kind of rule at offset from the entry point of path. */
static enum unwind_kind kind_at(const char *path, int64_t offset)
{
	struct unwind_rule rule = {.kind = UNWIND_GAP};
	struct ehframe_input input;
	struct unwind_table *table;
	struct elf_file *file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_int_equal(ehframe_input_from_elf(file, &input), 0);
	assert_true(input.entry != 0);
	assert_int_equal(unwind_table_new(&input, &table), 0);
	unwind_table_find(table, input.entry + (uint64_t)offset, &rule);
	unwind_table_free(table);
	elf_file_close(file);
	close(fd);
	return rule.kind;
}

static void test_loader(void **state)
{
	static const char *const path = "/lib64/ld-linux-x86-64.so.2";

	(void)state;
	if (access(path, R_OK))
		skip();
	assert_int_equal(kind_at(path, 0), UNWIND_ROOT);
	assert_int_equal(kind_at(path, 8), UNWIND_ROOT); /* after the call of _dl_start */
	assert_int_not_equal(kind_at(path, -1), UNWIND_ROOT);
	assert_int_not_equal(kind_at(path, 64), UNWIND_ROOT);
}

static void test_described(void **state)
{
	(void)state;
	/* behind the landing pad that arm64's begins with, which its description does not count */
	assert_int_equal(kind_at("/proc/self/exe", 4), UNWIND_ROOT);
	assert_int_not_equal(kind_at("/proc/self/exe", 64), UNWIND_ROOT);
}

/* Of 1,000 bytes without a description only the first can be the entry's. */
static void test_length(void **state)
{
	/* One CIE, one FDE of [0x1000, 0x1010); then nothing. */
	static const uint8_t section[] = {
		0x14, 0,    0, 0, 0, 0, 0, 0, 1,    0, 1, 0x78, 0x10, 0x0c, 7, 8,
		0x90, 1,    0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0,	0x1c, 0,    0, 0,
		0,    0x10, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0,	0,    0,    0, 0,
	};
	struct ehframe_input input = {
		.arch = &unwind_x86,
		.section = {.bytes = section, .len_bytes = sizeof(section)},
		.code_limit = UINT64_MAX,
		.entry = 0x1020,
	};
	struct unwind_table *table;
	struct unwind_rule rule;

	(void)state;
	assert_int_equal(unwind_table_new(&input, &table), 0);
	for (uint64_t addr = 0x1000; addr < 0x1400; addr++) {
		enum unwind_kind kind = addr < 0x1010			       ? UNWIND_FRAME
					: addr >= 0x1020 && addr < 0x1020 + 64 ? UNWIND_ROOT
									       : UNWIND_GAP;

		if (!unwind_table_find(table, addr, &rule))
			rule.kind = UNWIND_GAP;
		assert_int_equal(rule.kind, kind);
	}
	unwind_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loader),
		cmocka_unit_test(test_described),
		cmocka_unit_test(test_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
