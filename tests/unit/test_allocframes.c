// SPDX-License-Identifier: BSD-2-Clause
/* profile/allocframes: where the run of a library's frames ends, and that nothing else goes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profile/allocframes.h"
#include "profile/prune.h"
#include "base/saferegex.h"
#include "profile_case.h"

/* frame is a leaf below main. */
static void check(const char *frame, bool goes)
{
	struct profile *profile = case_new("inuse_space/bytes");
	uint32_t main_location = case_location(profile, "main");
	struct profile_function function = {.name = profile_string(profile, frame)};
	struct profile_line line = {.function = profile_function_id(profile, &function)};
	struct profile_location location = {
		.mapping = 1, .address = 0x2000, .lines = &line, .nr_lines = 1};
	uint32_t stack[] = {profile_location_id(profile, &location), main_location};

	profile_add_sample(profile, &(struct profile_sample){.locations = stack,
							     .nr_locations = 2,
							     .values = (int64_t[]){1}});
	profile_cut_allocators(profile);
	if ((profile->samples.at[0].nr_locations == 1) != goes)
		fail_msg("%s %s", frame, goes ? "stays" : "goes");
	profile_free(profile);
}

static void check_all(const char *const *frames, size_t nr, bool go)
{
	for (size_t i = 0; i < nr; i++)
		check(frames[i], go);
}

static void test_cpp(void **state)
{
	static const char *const go[] = {
		"malloc",
		"operator new(unsigned long)",
		"operator new[](unsigned long, std::nothrow_t const&)",
		"__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)",
		"std::__new_allocator<std::function<void (int)> >::allocate(unsigned long)",
		"std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
		"void std::vector<A, std::allocator<A> >::_M_realloc_insert<A>(A&&)",
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
		">::_M_append(char const*, unsigned long)",
		"std::__1::basic_string<char>::append(char const*)",
		"std::_Hashtable<K, V>::_M_insert_unique_node(K)",
		"std::__detail::_Map_base<K, V>::operator[](K const&)",
		"A* std::__uninitialized_copy_a<A*>(A*, A*)",
		"std::function<void ()>::function<main::{lambda()#1}, void>(main::{lambda()#1})",
		"std::_Rb_tree<int, A, main::{lambda(int, int)#1}>::_M_insert_(int)",
		"std::vector<my::lambda_term>::push_back(my::lambda_term const&)",
		"libstdc++.so.6+0xa1234",
	};
	static const char *const stay[] = {
		"load(std::vector<int>&)",
		"std::vector<int> load<int>(int)",
		"my::std::f(int)",
		"stdx::vector<int>::push_back(int)",
		"allocate(int)",
		"core::Engine::load(int)",
		"core::vec::Grower::grow(int) const",
		"main::{lambda(int)#1}::operator()(int) const",
		/* The lambda, or what the program says of its type, may be inlined in these. */
		"int* std::for_each<int*, main::{lambda(int)#1}>(int*, int*, "
		"main::{lambda(int)#1})",
		"std::_Function_handler<void (), A>::_M_invoke(std::_Any_data const&)",
		"std::thread::_State_impl<std::thread::_Invoker<std::tuple<A> > >::_M_run()",
		"A* std::__copy_if<A*, main::$_0>(A*, main::$_0)",
		"std::hash<A>::operator()(A const&) const",
		"libfoo.so.6+0x1234",
	};

	(void)state;
	check_all(go, sizeof(go) / sizeof(go[0]), true);
	check_all(stay, sizeof(stay) / sizeof(stay[0]), false);
}

/* Those of runtimes and libraries. */
static void test_c(void **state)
{
	static const char *const go[] = {
		"_PyObject_Malloc",
		"PyMem_RawCalloc",
		"_PyMem_DebugRawAlloc",
		"pymalloc_alloc",
		"_emalloc",
		"_emalloc_huge",
		"_safe_emalloc",
		"__zend_malloc",
		"_erealloc2",
		"ruby_xmalloc2",
		"Perl_safesysrealloc",
		"objspace_xmalloc0",
		"rb_gc_impl_malloc",
		"palloc",
		"palloc0",
		"repalloc",
		"MemoryContextAllocZero",
		"AllocSetAlloc",
		"g_malloc0_n",
		"g_slice_alloc",
		"CRYPTO_zalloc",
		"sqlite3DbMallocRaw",
		"sqlite3_malloc64",
		"xmalloc",
		"xreallocarray",
	};
	static const char *const stay[] = {
		"PyMem_Free",	       "PyObject_Init",	   "PyObject_GenericGetAttr",
		"emalloc_statistics",  "spalloc",	   "AllocSetContextCreateInternal",
		"SlabAllocatorRefill", "BumpAllocateTree", "g_mallocator",
		"sqlite3_step",	       "xmalloc_report",
	};

	(void)state;
	check_all(go, sizeof(go) / sizeof(go[0]), true);
	check_all(stay, sizeof(stay) / sizeof(stay[0]), false);
}

static void test_rust(void **state)
{
	static const char *const go[] = {
		"__rust_alloc",
		"__rdl_realloc",
		"_RNvCs1234_7___rustc12___rust_alloc",
		"__rustc::__rust_alloc",
		"<alloc::alloc::Global>::alloc_impl_runtime",
		"<alloc::raw_vec::RawVecInner>::finish_grow",
		"alloc::raw_vec::finish_grow::<alloc::alloc::Global>",
		"<alloc::vec::Vec<(u32, u32)>>::push",
		"<u32 as core::fmt::Display>::fmt",
		"<str as alloc::string::ToString>::to_string",
		"<[u8] as alloc::borrow::ToOwned>::to_owned",
		"<[u8]>::to_vec",
		"<str>::to_lowercase",
		"<alloc::string::String as core::clone::Clone>::clone",
		"<std::collections::hash::map::HashMap<&str, u32>>::insert",
		"alloc::alloc::exchange_malloc",
		"<alloc::alloc::Global as core::alloc::Allocator>::allocate",
		"alloc::raw_vec::RawVec<T,A>::grow_amortized",
		"alloc::raw_vec::finish_grow",
		"alloc::vec::Vec<T,A>::push",
		"<alloc::vec::Vec<u8>>::push",
		"<alloc::vec::Vec<T> as alloc::vec::spec_from_iter::SpecFromIter<T,I>>::from_iter",
		"<T as alloc::string::ToString>::to_string",
		"<[T] as alloc::borrow::ToOwned>::to_owned",
		"core::iter::traits::iterator::Iterator::collect",
		"std::collections::hash::map::HashMap<K,V,S>::insert",
		"hashbrown::raw::RawTable<T,A>::reserve_rehash",
		"_RNvMs4_NtCslNYArtu3iFV_5alloc7raw_vecNtB5_11RawVecInner11finish_growB7_",
		"_RINvMs6_NtCsgvbsrvnw3yD_9hashbrown3rawINtB6_8RawTableE14reserve_rehashCs12_1m",
	};
	static const char *const stay[] = {
		"my::load",
		"<my::Foo as core::clone::Clone>::clone",
		"<alloc::vec::Vec<T> as my::Ext>::extend",
		"<my::Foo<alloc::vec::Vec<u8>>>::load",
		"my::load::{{closure}}",
		"<core::iter::adapters::map::Map<I,F> as core::iter::Iterator>::fold",
		"core::ops::function::FnOnce::call_once",
		"std::sys::backtrace::__rust_begin_short_backtrace",
		"alloc::mine",
		"<std::thread::local::LocalKey<u32>>::with::<m::main::{closure#0}, ()>",
		"<m::Foo as core::clone::Clone>::clone",
		"<u32 as m::Table>::fill",
		"std::sys::backtrace::__rust_begin_short_backtrace::<fn(), ()>",
		"<core::iter::adapters::map::Map<I, F> as core::iter::Iterator>::fold::<(), G>",
		"m::main::{closure#0}",
		"_RNvCskK7mfDs1mzF_1m5table",
		"_RNvXCs1_1mNtB2_3FooNtNtCs2_4core5clone5Clone5clone",
		"_RINvNtNtCs2_3std3sys9backtrace28___rust_begin_short_backtrace",
	};

	(void)state;
	check_all(go, sizeof(go) / sizeof(go[0]), true);
	check_all(stay, sizeof(stay) / sizeof(stay[0]), false);
}

static void check_cut(const char *types, const char *stack, const char *expected)
{
	struct profile *profile = case_new(types);
	char *line scoped(freep) = xasprintf("%s 1\n", expected);

	case_add(profile, stack, "", 1);
	assert_int_equal(profile_prune(profile), 0);
	assert_case(profile, line);
	profile_free(profile);
}

/* Only the run at the leaf: a program's frame that a library calls ends it. */
static void test_stacks(void **state)
{
	static const char heap[] = "inuse_space/bytes";

	(void)state;
	check_cut(heap, "main;f;std::vector<int>::push_back;operator new;malloc", "main;f");
	check_cut(heap, "main;std::for_each<I>;f;std::string::append;malloc",
		  "main;std::for_each<I>;f");
	check_cut(heap, "main;std::vector<A>::emplace_back<int>;A::A;malloc",
		  "main;std::vector<A>::emplace_back<int>;A::A");
	check_cut(heap, "main;f,std::vector<int>::push_back;std::x;malloc", "main;f");
	check_cut(heap, "main;f;malloc_usable_size", "main;f;malloc_usable_size");
	check_cut(heap, "std::f;malloc", "std::f;malloc"); /* nobody is left */
	check_cut(heap, "[truncated: no unwind info];std::f;malloc",
		  "[truncated: no unwind info];std::f;malloc");
	check_cut(heap, "main;[libfoo.so];malloc", "main;[libfoo.so];malloc");
	check_cut(heap, "main;f", "main;f");
	check_cut("samples/count", "main;f;std::vector<int>::push_back;malloc",
		  "main;f;std::vector<int>::push_back;malloc");
}

/* A location that is cut in one stack is whole in another. */
static void test_shared_location(void **state)
{
	struct profile *profile = case_new("alloc_space/bytes");

	(void)state;
	case_add(profile, "main,std::vector<A>::emplace_back<int>;malloc", "", 1);
	case_add(profile, "main,std::vector<A>::emplace_back<int>;A::A;malloc", "", 2);
	case_add(profile, "main,std::vector<A>::emplace_back<int>;operator new;malloc", "", 4);
	profile_cut_allocators(profile);
	assert_case(profile, "main 1\nmain,std::vector<A>::emplace_back<int>;A::A 2\nmain 4\n");
	assert_int_equal(profile->samples.at[0].locations[0], profile->samples.at[2].locations[0]);
	profile_free(profile);
}

static void test_is_heap(void **state)
{
	struct profile *profile = case_new("objects/count space/bytes");

	(void)state;
	assert_false(profile_is_heap(profile));
	profile_set_period(profile, "space", "bytes", 1);
	assert_true(profile_is_heap(profile));
	assert_true(saferegex_is(allocator_frames));
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpp),
		cmocka_unit_test(test_c),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_shared_location),
		cmocka_unit_test(test_is_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
