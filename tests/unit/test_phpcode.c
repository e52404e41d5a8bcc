// SPDX-License-Identifier: BSD-2-Clause
/* runtime/phpcode and runtime/php: the files of tests/fuzz/corpus/phpcode, and the interpreter that is here. */
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
#include "runtime/php.h"
#include "runtime/phpcode.h"
#include "unit/code_case.h"

/* Reads a file of the corpus. false: its function has no name. */
static bool read_code(const char *name, struct phpcode *code)
{
	struct phpcode_copies copies = {0};
	struct memory_copy *const parts[] = {&copies.function, &copies.name, &copies.class_name,
					     &copies.file};

	code_case("phpcode", name, &copies.version, parts, sizeof(parts) / sizeof(parts[0]));
	return phpcode_read(&copies, code);
}

static void check(const char *input_name, const char *name, const char *file, uint32_t start_line)
{
	struct phpcode code;

	assert_true(read_code(input_name, &code));
	assert_string_equal(code.name, name);
	assert_string_equal(code.file, file);
	assert_int_equal(code.start_line, start_line);
}

static void test_names(void **state)
{
	static const char *const versions[] = {"7.4", "8.0", "8.1", "8.2", "8.3", "8.4"};
	struct phpcode code;

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		check(versions[i], "f", "/app/prog.php", 7);
	check("method", "App\\Service::run", "/app/prog.php", 7);
	check("internal", "usort", "", 0);
	check("closure", "{closure:prog.php:7}", "/app/prog.php", 7);
	check("closure_of", "App\\Service::App\\{closure:prog.php:7}", "/app/prog.php", 7);
	check("closure_8.4", "{closure:/app/prog.php:7}", "/app/prog.php", 7);
	check("main", "prog.php", "/app/prog.php", 7);
	check("anonymous", "class@anonymous::run", "/app/prog.php", 7);
	check("bytes", "caf\\xe9\\x0a", "/app/prog.php", 7);
	check("beyond", "short...", "/app/prog.php", 7);
	assert_true(read_code("namespace", &code)); /* 187 bytes, none of which is cut */
	assert_string_equal(code.name + strlen(code.name) - strlen("App\\Service::run"),
			    "App\\Service::run");
	assert_true(read_code("long", &code));
	assert_string_equal(code.name + strlen(code.name) - 3, "...");
	assert_false(read_code("nameless", &code));
	assert_false(read_code("unknown", &code));
	assert_false(read_code("short", &code));
}

static bool find_php(const char *path, struct abi_php *layout)
{
	struct objects *objects = objects_new();
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC);
	bool found = fd >= 0 && php_find(objects_get(objects, 1, fd), layout);

	objects_free(objects);
	return found;
}

/* Debian's, if it is here: it exports what an interpreter is known by, and has no other symbols. */
static void test_interpreter(void **state)
{
	struct abi_php layout;

	(void)state;
	assert_false(find_php("/proc/self/exe", &layout));
	assert_false(find_php("/bin/true", &layout));
	if (access("/usr/bin/php8.2", R_OK)) {
		print_message("SKIP: no /usr/bin/php8.2\n");
		return;
	}
	assert_true(find_php("/usr/bin/php8.2", &layout));
	assert_int_equal(layout.version, 0x0802);
	assert_int_not_equal(layout.state, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_interpreter),
	};

	return cmocka_run_group_tests_name("phpcode", tests, NULL, NULL);
}
