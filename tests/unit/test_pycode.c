// SPDX-License-Identifier: BSD-2-Clause
/* runtime/pycode and runtime/python: the files of tests/fuzz/corpus/pycode, and the interpreters that are here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "object/object.h"
#include "runtime/pycode.h"
#include "unit/code_case.h"
#include "runtime/python.h"

/* Reads a file of the corpus. false: its code object has no name. Else for pycode_release(). */
static bool read_code(const char *name, struct pycode *code)
{
	struct pycode_copies copies = {0};
	struct memory_copy *const parts[] = {&copies.object, &copies.name, &copies.qualified,
					     &copies.file, &copies.lines};

	code_case("pycode", name, &copies.version, parts, sizeof(parts) / sizeof(parts[0]));
	return pycode_read(&copies, code);
}

static void check_name(const char *file, const char *name)
{
	struct pycode code;

	assert_true(read_code(file, &code));
	assert_string_equal(code.name, name);
	pycode_release(&code);
}

static void test_names(void **state)
{
	struct pycode code;

	(void)state;
	check_name("3.8", "prog.f");
	check_name("3.11", "prog.C.f");
	check_name("3.13", "prog.C.f");
	check_name("library", "json.C.f");
	check_name("frozen", "importlib._bootstrap.C.f");
	check_name("no_file", "C.f");
	check_name("wide", "prog.\u0444\u4e2d");
	check_name("wider", "prog.\U0001f40d");
	check_name("latin", "prog.caf\u00e9");
	check_name("long", "prog.f...");
	assert_false(read_code("width", &code));
	assert_false(read_code("legacy", &code));
}

/* Rows as "limit:line". */
static void check_lines(const char *file, const char *expected)
{
	struct pycode code;
	char text[256] = "";
	int nr = 0;

	assert_true(read_code(file, &code));
	assert_int_equal(code.start_line, 10);
	vec_for_each(&code.rows, row)
		nr += snprintf(text + nr, sizeof(text) - (size_t)nr, "%x:%u ", row->limit,
			       row->line);
	assert_string_equal(text, expected);
	pycode_release(&code);
}

static void test_lines(void **state)
{
	(void)state;
	check_lines("3.8", "4:11 a:12 12:11 ffffffff:13 ");
	check_lines("3.10", "4:11 a:12 c:0 14:10 ");
	check_lines("3.11", "4:10 a:11 c:9 14:10 24:0 ");
	check_lines("3.13", "4:10 a:11 c:9 14:10 24:0 ");
}

static bool find_python(const char *path, struct python_file *python)
{
	struct objects *objects = objects_new();
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC);
	bool found = fd >= 0 && python_find(objects_get(objects, 1, fd), python);

	objects_free(objects);
	return found;
}

/* Of all pieces, which are apart from each other. */
static uint64_t loop_bytes(const struct python_file *python)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < LOOP_MAX_PIECES; i++) {
		assert_true(python->loops[i].start <= python->loops[i].limit);
		sum += python->loops[i].limit - python->loops[i].start;
		for (size_t k = 0; k < i; k++)
			assert_true(python->loops[i].start >= python->loops[k].limit ||
				    python->loops[i].limit <= python->loops[k].start);
	}
	return sum;
}

static void test_files(void **state)
{
	struct python_file python;

	(void)state;
	assert_false(find_python("/proc/self/exe", &python));
	assert_false(find_python("/bin/true", &python));
	if (access("/usr/bin/python3.11", R_OK)) {
		print_message("SKIP: no /usr/bin/python3.11\n");
		return;
	}
	assert_true(find_python("/usr/bin/python3.11", &python));
	assert_int_equal(python.layout.version, 0x030b);
	assert_true(python.layout.state && python.layout.code_type);
	assert_true(loop_bytes(&python) > 30000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
