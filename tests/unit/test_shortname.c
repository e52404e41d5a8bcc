// SPDX-License-Identifier: BSD-2-Clause
/* profile/shortname: what is left of long names, and which names stay as they are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/shortname.h"

static void check(const char *name, const char *expected)
{
	char *found scoped(freep) = short_name(name);

	assert_string_equal(found, expected);
}

static void stays(const char *name)
{
	check(name, name);
}

static void test_templates(void **state)
{
	(void)state;
	check("std::vector<std::pair<int, Foo<Bar> >, std::allocator<int> >::push_back(int const&)",
	      "std::vector<>::push_back");
	check("void std::sort<int*, bool (*)(int, int)>(int*, int*, bool (*)(int, int))",
	      "std::sort<>");
	check("std::vector<int> make<int>(int)", "make<>");
	check("f<(anonymous namespace)::g>()", "f<>");
	check("f<(1>0)>(int)", "f<>");
	check("f<&A::operator< >::g", "f<>::g");
	check("f<&A::operator->, 3>::g", "f<>::g");
	check("f<decltype (a->b)>::g", "f<>::g");
	check("foo[abi:cxx11](int)", "foo[abi:cxx11]");
	check("foo[abi:cxx11]<int>(int)", "foo[abi:cxx11]<>");
	check("std::_Function_handler<void (int, char const*), "
	      "main::{lambda(int)#1}>::_M_invoke(int)",
	      "std::_Function_handler<>::_M_invoke");
}

static void test_arguments(void **state)
{
	(void)state;
	check("f()", "f");
	check("A::f(void (*)(int)) const", "A::f");
	check("A::f(int) const &", "A::f");
	check("A::f(int) &&", "A::f");
	check("f(int) constant", "f constant");
	check("f(int)::g(char)::h", "f::g::h");
	check("(anonymous namespace)::f(int)", "(anonymous namespace)::f");
	check("A::(anonymous namespace)::B::f(int)", "A::(anonymous namespace)::B::f");
	check("f(int) [clone .cold]", "f [clone .cold]");
	check("non-virtual thunk to A::f(int)", "non-virtual thunk to A::f");
	check("r\xc3\xa9sum\xc3\xa9(int)", "r\xc3\xa9sum\xc3\xa9");
	check("decltype(auto) f<int>(int)", "f<>");
}

static void test_operators(void **state)
{
	(void)state;
	check("A::operator<(A const&) const", "A::operator<");
	check("A::operator<<(int)", "A::operator<<");
	check("A::operator>>(int)", "A::operator>>");
	check("A::operator<=>(A const&)", "A::operator<=>");
	check("A::operator->() const", "A::operator->");
	check("A::operator->*(int)", "A::operator->*");
	check("A<int>::operator()(int) const", "A<>::operator()");
	check("void A::operator()<int>(int)", "A::operator()<>");
	check("std::basic_ostream<char>& std::operator<< <std::char_traits<char> >(char const*)",
	      "std::operator<< <>");
	check("bool operator< <int>(A<int> const&)", "operator< <>");
	check("operator new(unsigned long)", "operator new");
	check("operator new[](unsigned long, std::nothrow_t const&)", "operator new[]");
	check("A::operator std::vector<int>() const", "A::operator std::vector<>");
	check("A::operator unsigned long()", "A::operator unsigned long");
	check("A::operator+=(A<int>)", "A::operator+=");
	check("my_operator(int)", "my_operator");
	check("operators<int>::f(int)", "operators<>::f");
}

static void test_lambdas(void **state)
{
	(void)state;
	check("run(int)::{lambda(char)#1}::operator()(char) const", "run::{lambda#1}::operator()");
	check("auto run<int>(int)::{lambda(auto:1)#1}::operator()<int>(int) const",
	      "run<>::{lambda#1}::operator()<>");
	check("run()::'lambda'(int)::operator()(int) const", "run::'lambda'::operator()");
	check("main::$_0::operator()(int) const", "main::$_0::operator()");
	check("main::<lambda(int)>", "main::<lambda>");
	check("{unnamed type#1}::f(int)", "{unnamed type#1}::f");
}

static void test_rust(void **state)
{
	(void)state;
	check("<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
	      "<alloc::vec::Vec<> as core::ops::drop::Drop>::drop");
	check("alloc::vec::Vec<T,A>::push", "alloc::vec::Vec<>::push");
	check("alloc::vec::Vec::<T>::push", "alloc::vec::Vec::<>::push");
	check("<alloc::vec::Vec<u8>>::push", "<alloc::vec::Vec<>>::push");
	check("core::fmt::num::<impl core::fmt::Display for i32>::fmt",
	      "core::fmt::num::<impl core::fmt::Display for i32>::fmt");
	check("<&mut F as core::ops::FnOnce<(A,)>>::call_once",
	      "<&mut F as core::ops::FnOnce<>>::call_once");
	check("<fn(A) -> B as my::T>::f", "<fn -> B as my::T>::f");
	stays("my::run::{{closure}}");
	stays("<[T] as my::Trait>::f");
}

static void test_others(void **state)
{
	(void)state;
	stays("");
	stays("main");
	stays("libfoo.so.6+0x1234 [guessed]");
	stays("[truncated: no unwind info for libfoo.so (gone)]");
	stays("main.(*T).Method");
	stays("main.f[go.shape.int]");
	stays("java.lang.String.<init>");
	stays("Array#<<");
	stays("<module>");
	stays("(anonymous)");
	stays("LazyCompile:*f /srv/a.js:1:2");
	stays("type..eq.struct { F uintptr; x int }");
}

static void test_not_understood(void **state)
{
	char deep[201], *found;

	(void)state;
	stays("f<int");
	stays("f(int");
	stays("f>int");
	stays("f(int]");
	stays("f<(a<b)>");
	stays("f[(");
	stays("f)");
	stays("a}<");
	stays("f<(>)");
	memset(deep, '<', 100);
	memset(deep + 100, '>', 100);
	deep[200] = '\0';
	stays(deep);
	/* Nothing between brackets is looked at twice: a megabyte of them takes no time. */
	found = xmalloc((1 << 20) + 1);
	for (size_t i = 0; i < 1 << 20; i++)
		found[i] = "a<b>(c)"[i % 7];
	found[(1 << 20) / 7 * 7] = '\0';
	free(short_name(found));
	free(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_templates),      cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_operators),      cmocka_unit_test(test_lambdas),
		cmocka_unit_test(test_rust),	       cmocka_unit_test(test_others),
		cmocka_unit_test(test_not_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
