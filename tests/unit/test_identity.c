// SPDX-License-Identifier: BSD-2-Clause
/* Names of functions, compared across builds: suffixes of compilers, templates, and renames. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "profile/identity.h"

static void assert_name(const struct identity *identity, const char *name, const char *expected)
{
	char *got = identity_name(identity, name);

	assert_string_equal(got, expected);
	free(got);
}

static void test_suffixes(void **state)
{
	static const struct identity plain = {0};
	static const char *const clones[] = {
		"foo",
		"foo.constprop.0",
		"foo.isra.12",
		"foo.part.3",
		"foo.cold",
		"foo.cold.7",
		"foo.lto_priv.0",
		"foo.llvm.1234567890123456",
		"foo.isra.0.cold",
		"foo.localalias",
		"foo (.cold)",
		"foo [clone .cold]",
		"foo [clone .isra.0] [clone .cold]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(clones) / sizeof(clones[0]); i++)
		assert_name(&plain, clones[i], "foo");
	assert_name(&plain, "core::fmt::write::h0123456789abcdef", "core::fmt::write");
	assert_name(&plain, "x::y::h0123456789abcdef.llvm.7", "x::y");
	assert_name(&plain, "std::f(int) (.cold)", "std::f(int)");
}

static void test_what_stays(void **state)
{
	static const struct identity plain = {0};
	static const char *const names[] = {
		"",
		"[unknown]",
		"[truncated: no unwind info for libx.so]",
		"h0123456789abcdef",
		"a::h0123456789abcde",
		"a::h0123456789ABCDEF",
		"main.run",
		"net/http.(*conn).serve.func1",
		"foo.2",
		".cold",
		"pkg.clone",
		"pkg.part",
		"pkg.isra",
		"operator+",
		"strcmp@plt",
		"a[b]::c",
		"(anonymous namespace)::f()",
		"main.Map[go.shape.int]",
		"[kernel]+0xffffffff81000000",
		"App.run/0x12",
		"f(a) const",
		"operator()",
		"std::vector<int>::at(unsigned long)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_name(&plain, names[i], names[i]);
}

static void test_tags(void **state)
{
	static const struct identity plain = {0};

	(void)state;
	assert_name(&plain, "foo[abi:cxx11](int)", "foo(int)");
	assert_name(&plain, "a::f[abi:cxx11]()::g[abi:v2]()", "a::f()::g()");
	assert_name(&plain, "core[0123456789abcdef]::fmt::write", "core::fmt::write");
	assert_name(&plain, "memcpy@@GLIBC_2.14", "memcpy");
	assert_name(&plain, "memcpy@GLIBC_2.2.5", "memcpy");
	assert_name(&plain, "App$$Lambda$14/0x00000008000c4840.run", "App$$Lambda.run");
	assert_name(&plain, "LambdaForm$MH/0x00000008000c4840.invoke", "LambdaForm$MH.invoke");
}

/* A file's version is not part of a name that is made of the file. */
static void test_files(void **state)
{
	static const struct identity plain = {0};
	static const char *const same[][2] = {
		{"libx.so.1.2+0x1234", "libx.so+0x1234"},
		{"libc-2.31.so+0x10", "libc.so+0x10"},
		{"libc.so.6+0x10", "libc.so+0x10"},
		{"ld-linux-x86-64.so.2+0x10", "ld-linux-x86-64.so+0x10"},
		{"srv-v2+0x1", "srv+0x1"},
		{"srv-1.2.3+0x1", "srv+0x1"},
		{"python3.11+0x1", "python+0x1"},
		{"[libx.so.1.2]", "[libx.so]"},
		{"[srv-v2]", "[srv]"},
		{"[anon]+0x7f00c0de", "[anon]"},
		{"[unknown]+0x10 [guessed]", "[unknown]"},
		{"x86+0x1", "x86+0x1"},
		{"1.2.3+0x1", "1.2.3+0x1"},
	};
	char *file = identity_file("libx.so.1.2+0x1234");

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_name(&plain, same[i][0], same[i][1]);
	assert_string_equal(file, "[libx.so]");
	free(file);
	assert_null(identity_file("operator+"));
	assert_null(identity_file("[anon]+0x1"));
	file = identity_file_of_path("/usr/lib/[libx.so.1.3]");
	assert_string_equal(file, "[libx.so]");
	free(file);
}

static void test_templates(void **state)
{
	static const struct identity without = {.drop_templates = true};

	(void)state;
	assert_name(&without, "std::vector<int, std::allocator<int> >::at(unsigned long)",
		    "std::vector::at(unsigned long)");
	assert_name(&without, "a::b<int>(c<d>)", "a::b(c)");
	assert_name(&without, "x::operator<(x const&)", "x::operator<(x const&)");
	assert_name(&without, "x::operator->()", "x::operator->()");
	assert_name(&without, "operator<<(std::ostream<char>&)", "operator<<(std::ostream&)");
	assert_name(&without, "<T as core::fmt::Debug>::fmt", "<T as core::fmt::Debug>::fmt");
	assert_name(&without, "f<unbalanced", "f<unbalanced");
	assert_name(&without, "f<a->b>()", "f()");
}

static void test_renames(void **state)
{
	struct identity_rename renames[2];
	const struct identity identity = {.renames = renames, .nr_renames = 2};

	(void)state;
	assert_int_equal(identity_parse_rename("old=new", &renames[0]), 0);
	assert_int_equal(identity_parse_rename("A::operator==(A)=B::operator==(B)", &renames[1]),
			 0);
	assert_name(&identity, "old", "new");
	assert_name(&identity, "old.isra.0", "new");
	assert_name(&identity, "older", "older");
	assert_name(&identity, "A::operator==(A)", "B::operator==(B)");
	identity_release_rename(&renames[0]);
	identity_release_rename(&renames[1]);
	assert_int_equal(identity_parse_rename("std::vector<int>=v", &renames[0]), 0);
	assert_string_equal(renames[0].from, "std::vector<int>");
	identity_release_rename(&renames[0]);
	assert_int_equal(identity_parse_rename("none", &renames[0]), -EINVAL);
	assert_int_equal(identity_parse_rename("=b", &renames[0]), -EINVAL);
	assert_int_equal(identity_parse_rename("a=", &renames[0]), -EINVAL);
	assert_int_equal(identity_parse_rename("operator==", &renames[0]), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suffixes),  cmocka_unit_test(test_what_stays),
		cmocka_unit_test(test_tags),	  cmocka_unit_test(test_files),
		cmocka_unit_test(test_templates), cmocka_unit_test(test_renames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
