// SPDX-License-Identifier: BSD-2-Clause
/* runtime/v8code and runtime/v8: the files of tests/fuzz/corpus/v8code, and the node that is here. */
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
#include "runtime/v8.h"
#include "runtime/v8code.h"
#include "unit/code_case.h"

/* Reads a file of the corpus. false: it is no function. */
static bool read_code(const char *name, struct v8code *code)
{
	struct v8code_copies copies = {0};
	struct memory_copy *const parts[] = {&copies.function, &copies.name, &copies.rest,
					     &copies.last, &copies.file};

	code_case("v8code", name, NULL, parts, sizeof(parts) / sizeof(parts[0]));
	return v8code_read(&copies, code);
}

static void check(const char *input_name, const char *name, const char *file)
{
	struct v8code code;

	assert_true(read_code(input_name, &code));
	assert_string_equal(code.name, name);
	assert_string_equal(code.file, file);
}

static void test_names(void **state)
{
	struct v8code code;

	(void)state;
	check("plain", "f", "/app/prog.js");
	check("three", "Module.prototype.load", "node:internal/loader");
	check("url", "f", "/app/prog.mjs");
	check("anonymous", "(anonymous)", "");
	check("placed", "(anonymous:prog.js:12)", "/app/prog.js");
	check("nowhere", "(anonymous)", "/app/prog.js");
	check("latin", "caf\xc3\xa9\\x0a", "/app/prog.js");
	check("wide", "f\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", "/app/prog.js");
	check("half", "a\xef\xbf\xbd", "/app/prog.js");
	check("cut", "begin...", "/app/prog.js");
	check("beyond", "short...", "/app/prog.js");
	check("nul", "a...", "/app/prog.js");
	check("cons", "...", "/app/prog.js");
	check("headless", "...", "/app/prog.js");
	assert_true(read_code("long", &code));
	assert_string_equal(code.name + strlen(code.name) - 3, "...");
	assert_true(read_code("long_file", &code));
	assert_int_equal(strlen(code.file), 1001);
	assert_true(read_code("escaped_file", &code));
	assert_int_equal(strlen(code.file) % 4, 0); /* "/", "\\x0a" ..., "..." */
	assert_string_equal(code.file + strlen(code.file) - 7, "\\x0a...");
	assert_false(read_code("short", &code));
	assert_true(read_code("plain", &code));
	assert_int_equal(code.start_line, 12);
	assert_true(read_code("negative", &code));
	assert_int_equal(code.start_line, 0);
}

static bool find_v8(const char *path, struct abi_v8 *layout)
{
	struct objects *objects = objects_new();
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC);
	bool found = fd >= 0 && v8_find(objects_get(objects, 1, fd), layout);

	objects_free(objects);
	return found;
}

/* One that is here: what it exports says where things are. */
static void test_engine(void **state)
{
	static const char *const paths[] = {"/usr/bin/node",
					    "/usr/lib/x86_64-linux-gnu/libnode.so.108"};
	struct abi_v8 layout;
	bool found = false;

	(void)state;
	assert_false(find_v8("/proc/self/exe", &layout));
	assert_false(find_v8("/bin/true", &layout));
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && !found; i++)
		found = !access(paths[i], R_OK) && find_v8(paths[i], &layout);
	if (!found) {
		print_message("SKIP: no node of 18 to 24\n");
		return;
	}
	assert_in_range(layout.version, 0x0a02, 0x0d06);
	assert_in_range(layout.shared_at, 24, 32);
	assert_int_equal(layout.script_name_at, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_engine),
	};

	return cmocka_run_group_tests_name("v8code", tests, NULL, NULL);
}
