// SPDX-License-Identifier: BSD-2-Clause
/* runtime/perlcode and runtime/perl: the files of tests/fuzz/corpus/perlcode, and the interpreter that is here. */
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
#include "runtime/perl.h"
#include "runtime/perlcode.h"
#include "unit/code_case.h"

/* Reads a file of the corpus. false: its function has no name. */
static bool read_code(const char *name, struct perlcode *code)
{
	struct perlcode_copies copies = {0};
	struct memory_copy *const parts[] = {&copies.start, &copies.name, &copies.package,
					     &copies.file, &copies.block};

	code_case("perlcode", name, &copies.version, parts, sizeof(parts) / sizeof(parts[0]));
	return perlcode_read(&copies, code);
}

static void check(const char *input_name, const char *name, const char *file, uint32_t start_line)
{
	struct perlcode code;

	assert_true(read_code(input_name, &code));
	assert_string_equal(code.name, name);
	assert_string_equal(code.file, file);
	assert_int_equal(code.start_line, start_line);
}

static void test_names(void **state)
{
	static const char *const versions[] = {"5.32", "5.36", "5.40", "5.42"};
	struct perlcode code;

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		check(versions[i], "main::f", "/app/prog.pl", 7);
	check("method", "App::Service::run", "/app/prog.pl", 7);
	check("anonymous", "main::__ANON__[prog.pl:7]", "/app/prog.pl", 7);
	check("no_package", "run", "/app/prog.pl", 7);
	check("main", "prog.pl", "/app/prog.pl", 0);
	check("eval", "(eval)", "(eval 12)", 0);
	check("block", "{sort}", "/app/prog.pl", 0);
	check("regex", "{regex}", "/app/prog.pl", 0);
	check("no_such_block", "prog.pl", "/app/prog.pl", 0);
	check("no_file", "main::f", "", 7);
	check("cut_file", "main::f", "/app/prog.p...", 7);
	check("latin1", "main::caf\xc3\xa9\\x0a", "/app/prog.pl", 7);
	check("utf8", "main::\xe5\x90\x8d\xe5\x89\x8d", "/app/prog.pl", 7);
	check("no_flags", "main::caf\\xe9", "/app/prog.pl", 7);
	check("beyond", "main::short...", "/app/prog.pl", 7);
	check("negative", "prog.pl", "/app/prog.pl", 7);
	assert_true(read_code("deep", &code)); /* 172 bytes, none of which is cut */
	assert_string_equal(code.name + strlen(code.name) - strlen("App::Service::run"),
			    "App::Service::run");
	assert_true(read_code("long", &code));
	assert_string_equal(code.name + strlen(code.name) - 3, "...");
	assert_true(read_code("long_anonymous", &code));
	assert_false(read_code("nameless", &code));
	assert_false(read_code("unknown", &code));
	assert_false(read_code("short", &code));
}

static bool find_perl(const char *path, struct abi_perl *layout)
{
	struct objects *objects = objects_new();
	int fd scoped(closep) = open(path, O_RDONLY | O_CLOEXEC);
	bool found = fd >= 0 && perl_find(objects_get(objects, 1, fd), layout);

	objects_free(objects);
	return found;
}

/* Debian's, which is part of each system: it exports what an interpreter is known by, and has no other symbols. */
static void test_interpreter(void **state)
{
	struct abi_perl layout;

	(void)state;
	assert_false(find_perl("/proc/self/exe", &layout));
	assert_false(find_perl("/bin/true", &layout));
	if (access("/usr/bin/perl5.36.0", R_OK) &&
	    access("/usr/bin/perl5.36-x86_64-linux-gnu", R_OK)) {
		print_message("SKIP: no Perl 5.36\n");
		return;
	}
	assert_true(find_perl("/usr/bin/perl", &layout));
	assert_int_equal(layout.version, 0x0524);
	assert_int_not_equal(layout.state, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_interpreter),
	};

	return cmocka_run_group_tests_name("perlcode", tests, NULL, NULL);
}
