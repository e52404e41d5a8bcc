// SPDX-License-Identifier: BSD-2-Clause
/* runtime/rubycode, runtime/ruby and runtime/rubyloop: the files of tests/fuzz/corpus/rubycode, and the interpreter that is here. */
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
#include "object/dynsym.h"
#include "object/object.h"
#include "runtime/ruby.h"
#include "runtime/rubycode.h"
#include "unit/code_case.h"

#define LIBRARY "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1"

/* Reads a file of the corpus. false: its function has no name. */
static bool read_code(const char *name, struct rubycode *code)
{
	struct rubycode_copies copies = {0};
	struct memory_copy *const parts[] = {&copies.body, &copies.label, &copies.path,
					     &copies.lines, &copies.index};

	code_case("rubycode", name, &copies.version, parts, sizeof(parts) / sizeof(parts[0]));
	return rubycode_read(&copies, code);
}

/* The line of a word; 0: no row has it. */
static uint32_t line_of(const struct rubycode *code, uint32_t word)
{
	for (size_t i = 0; i < code->rows.nr; i++)
		if (word < code->rows.at[i].limit)
			return code->rows.at[i].line;
	return 0;
}

static void check(const char *input_name, const char *name, const char *file, uint32_t line_of_3)
{
	struct rubycode code;

	assert_true(read_code(input_name, &code));
	assert_string_equal(code.name, name);
	assert_string_equal(code.file, file);
	assert_int_equal(code.start_line, 7);
	assert_int_equal(line_of(&code, 3), line_of_3);
	rubycode_release(&code);
}

static void test_names(void **state)
{
	static const char *const versions[] = {"3.1", "3.3", "3.4"};
	struct rubycode code;

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		check(versions[i], "run", "/app/prog.rb", 9);
	check("block", "block in run", "/app/prog.rb", 9);
	check("no_lines", "run", "/app/prog.rb", 0);
	check("no_line", "run", "/app/prog.rb", 0);
	check("no_path", "run", "", 9);
	check("bytes", "caf\\xe9\\x0a", "/app/prog.rb", 9);
	check("wild_index", "run", "/app/prog.rb", 0);
	check("short_index", "run", "/app/prog.rb", 100);
	assert_true(read_code("long", &code));
	assert_string_equal(code.name + strlen(code.name) - 3, "...");
	rubycode_release(&code);
	assert_false(read_code("nameless", &code));
	assert_false(read_code("unknown", &code));
}

/* Words in all parts of an index: counted, in the first block, and in those behind. */
static void test_lines(void **state)
{
	static const uint32_t words[] = {0,   1,   2,	53,  54,   55,	 117,
					 118, 565, 566, 567, 1077, 1078, 1499};
	struct rubycode code;

	(void)state;
	assert_true(read_code("long_code", &code));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_int_equal(line_of(&code, words[i]), 100 + words[i] / 2 * 2);
	assert_int_equal(line_of(&code, 1500), 0);
	rubycode_release(&code);
}

/* Debian's, if it is here: it exports one of the two functions of the loop, by which the search without names is checked. */
static void test_interpreter(void **state)
{
	struct objects *objects = objects_new();
	int fd scoped(closep) = open(LIBRARY, O_RDONLY | O_CLOEXEC);
	int other scoped(closep) = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct ruby_file ruby;
	struct object *object;
	uint64_t exec;

	(void)state;
	assert_false(ruby_find(objects_get(objects, 1, other), &ruby));
	if (fd < 0) {
		print_message("SKIP: no " LIBRARY "\n");
		objects_free(objects);
		return;
	}
	object = objects_get(objects, 2, fd);
	assert_true(ruby_find(object, &ruby));
	assert_int_equal(ruby.layout.version, 0x0301);
	assert_int_not_equal(ruby.layout.state, 0);
	assert_true(dynsym_function(object_elf(object), "rb_vm_exec", &exec));
	assert_int_equal(ruby.loops.exec[0].start, exec);
	assert_true(ruby.loops.core[0].limit - ruby.loops.core[0].start > 8192);
	objects_free(objects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_interpreter),
	};

	return cmocka_run_group_tests_name("rubycode", tests, NULL, NULL);
}
