// SPDX-License-Identifier: BSD-2-Clause
/* Names against c++filt, which has another demangler for Rust, and the limits for hostile ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "object/demangle.h"

static void expect(const char *raw, const char *display)
{
	char *got scoped(freep) = demangle(raw);

	if (!display && got)
		fail_msg("%s became %s", raw, got);
	if (!display)
		return;
	if (!got)
		fail_msg("%s was left alone", raw);
	assert_string_equal(got, display);
}

static void test_names(void **state)
{
	(void)state;
	expect("main", NULL);
	expect("", NULL);
	expect("_", NULL);
	expect("_Z", NULL);
	expect("_Zzz", NULL);
	expect("i", NULL); /* a type to __cxa_demangle */
	expect("_ZN3foo3barEi", "foo::bar(int)");
	expect("_ZN3foo3barEi.cold", "foo::bar(int)");
	expect("_ZN3foo3barEi.constprop.0.isra.0.cold", "foo::bar(int)");
	expect("_ZN3foo3barEi.llvm.1234567890", "foo::bar(int)");
	expect("_Znwm@plt", "operator new(unsigned long)@plt");
	expect("malloc@plt", NULL);
	expect("_int_malloc.part.0", "_int_malloc");
	expect("main.cold", "main");
	expect("main.clone.3", "main");
	expect("main.part.0.cold", "main");
	expect("f.localalias", "f");
	/* What no compiler appends is the function's own name. */
	expect("pkg.clone", NULL);
	expect("pkg.part", NULL);
	expect("pkg.isra", NULL);
	expect("pkg.llvm", NULL);
	expect("pkg.list.cold", NULL);
	expect("pkg.list.clone.0", "pkg.list");
	expect("main.func1", NULL); /* Go */
	expect("main.12", NULL);
	expect(".cold", NULL);
	expect("foo.coldest", NULL);
}

/* RFC 2603, and what rustc 1.63 to 1.90 makes. */
static void test_rust_v0(void **state)
{
	(void)state;
	expect("_RNvC6_123foo3bar", "123foo::bar");
	expect("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
	expect("_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>");
	expect("_RNvMs_CsbDqzXfLQacH_7mycrateNtB4_7Example3foo", "<mycrate::Example>::foo");
	expect("_RNCNvC5crate4main0B3_", "crate::main::{closure#0}");
	expect("_RNvXs_C1aNtB4_3FooNtNtCs2_4core5clone5Clone5clone",
	       "<a::Foo as core::clone::Clone>::clone");
	expect("_RNvC1au8gdel_5qa", "a::g\xc3\xb6"
				    "del");
	expect("_RNvC1a1b.llvm.1234567890", "a::b");
	expect("_RNvC1a1b.cold", "a::b");
	expect("_RNvC1a1b@plt", "a::b@plt");
	expect("_RNvCs1234_7___rustc12___rust_alloc", "__rustc::__rust_alloc");
	expect("_R", NULL);
	expect("_RNvC1a9b", NULL);
	expect("_Rust_thing", NULL);
	expect("_Read", NULL);
}

/* Hostile names: 41 pairs, each of the one before; 2^60 lifetimes where nothing is printed. */
/* What dlang.org's page on its ABI says, and what c++filt -s dlang prints. */
static void test_dlang(void **state)
{
	char name[8192];

	(void)state;
	expect("_D3foo3barFiZv", "foo.bar(int)");
	expect("_D8demangle4testFaZv", "demangle.test(char)");
	expect("_D8demangle4test4testFxPAaZv", "demangle.test.test(const(char[]*))");
	expect("_Dmain", "D main");
	expect("_D3foo3barFiZv.part.0", "foo.bar(int)");
	assert_null(demangle("_Dragon"));
	assert_null(demangle("_D3fo"));
	/* Each parameter is two times the one before it. */
	strcpy(name, "_D3foo3barFS1aS1b");
	for (size_t i = 0; i < 40; i++)
		strcat(name, "HQbQb");
	strcat(name, "Zv");
	assert_null(demangle(name));
}

static void test_rust_v0_is_bounded(void **state)
{
	static const char doubles[] =
		"_RINvC1a1bTmmETB7_B7_ETBb_Bb_ETBj_Bj_ETBr_Br_ETBz_Bz_ETBH_BH_ETBP_BP_E"
		"TBX_BX_ETB15_B15_ETB1d_B1d_ETB1n_B1n_ETB1x_B1x_ETB1H_B1H_ETB1R_B1R_ETB"
		"21_B21_ETB2b_B2b_ETB2l_B2l_ETB2v_B2v_ETB2F_B2F_ETB2P_B2P_ETB2Z_B2Z_ETB"
		"39_B39_ETB3j_B3j_ETB3t_B3t_ETB3D_B3D_ETB3N_B3N_ETB3X_B3X_ETB47_B47_ETB"
		"4h_B4h_ETB4r_B4r_ETB4B_B4B_ETB4L_B4L_ETB4V_B4V_ETB55_B55_ETB5f_B5f_ETB"
		"5p_B5p_ETB5z_B5z_ETB5J_B5J_ETB5T_B5T_ETB63_B63_EE";
	char *display = demangle(doubles);

	(void)state;
	assert_non_null(display);
	assert_int_equal(strlen(display), 64 << 10);
	free(display);
	expect("_RNvC1a1bIC0DGzzzzzzzzzz_EL_E", NULL);
}

static void test_rust_legacy(void **state)
{
	(void)state;
	expect("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
	       "core::fmt::Formatter::write_str");
	expect("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE.llvm.42",
	       "core::fmt::Formatter::write_str");
	expect("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	       "3bar17h930b740aa94f1d3aE",
	       "<Test + 'static as foo::Bar<Test>>::bar");
	expect("_ZN3foo8$u20ac$x17h930b740aa94f1d3aE", "foo::\xe2\x82\xacx");
	/* Not Rust's hash: C++ then, or nothing. */
	expect("_ZN3foo17h0123456789abcdeXE", "foo::h0123456789abcdeX");
	expect("_ZN17h0123456789abcdefE", "h0123456789abcdef");
	expect("_ZN99999999999999999999foo17h0123456789abcdefE", NULL);
}

/* Each pair of what came before: 250 bytes for 140 MB, and so on. */
static char *doubling_name(size_t nr)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *name = xmalloc(32 + nr * 16), *p = name + sprintf(name, "_Z1f1aIiiE");

	for (size_t i = 0; i < nr; i++) {
		char reference[8];

		if (i < 36)
			sprintf(reference, "S%c_", digits[i]);
		else
			sprintf(reference, "S%c%c_", digits[i / 36], digits[i % 36]);
		p += sprintf(p, "S_I%s%sE", reference, reference);
	}
	return name;
}

static void compare_all(const char *command, size_t *nr, size_t *nr_left);

/* S_, S0_ ... SZ_, S10_ */
static char *reference(char out[16], size_t i)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (!i)
		strcpy(out, "S_");
	else if (i <= 36)
		sprintf(out, "S%c_", digits[i - 1]);
	else
		sprintf(out, "S%c%c_", digits[(i - 1) / 36], digits[(i - 1) % 36]);
	return out;
}

/* A pack expansion looks for its pack in all that it stands for, and prints nothing meanwhile. */
static char *silent_name(size_t nr)
{
	char *name = xmalloc(64 + nr * 32), *p = name + sprintf(name, "_Z1fDp1bI1aIiiE"), text[16];

	for (size_t i = 0; i < nr; i++) {
		reference(text, 2 + i);
		p += sprintf(p, "S0_I%s%sE", text, text);
	}
	strcpy(p, "E");
	return name;
}

/* The CPU time, of all threads, that a name takes; demangle()'s result in *got. */
static uint64_t cost_of(const char *name, char **got)
{
	uint64_t begin_ns = clock_process_cpu_ns();

	*got = demangle(name);
	return clock_process_cpu_ns() - begin_ns;
}

/*
 * What prints nothing ends, too; and after some such names no more are tried: all of the many that follow take less than
 * one that was.
 */
static void test_hostile_in_silence(void **state)
{
	uint64_t first_ns = 0, rest_ns = 0;
	size_t nr_tried = 0;

	(void)state;
	for (size_t i = 0; i < 200; i++) {
		char *name scoped(freep) = silent_name(60), *got scoped(freep) = NULL;
		uint64_t cost_ns = cost_of(name, &got);

		assert_null(got);
		if (!i)
			first_ns = cost_ns;
		if (cost_ns > first_ns / 20)
			nr_tried++;
		else
			rest_ns += cost_ns;
	}
	print_message("%zu of 200 were tried\n", nr_tried);
	assert_in_range(nr_tried, 1, 50);
	assert_true(rest_ns < first_ns);
	expect("_ZN3foo3barEi", "foo::bar(int)");
}

/* All that is mangled nests as deep as a name may be long. */
static void test_deep(void **state)
{
	static const char *const parts[] = {"P",  "F",	"1aI", "N",    "Z",  "sp",
					    "cv", "LN", "DT",  "U1aI", "A_", "XT"};

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t len = strlen(parts[i]), nr = 65000 / len;
		char *name scoped(freep) = xmalloc(nr * len + 8), *p = name + sprintf(name, "_Z1f");

		while (nr--)
			p = stpcpy(p, parts[i]);
		free(demangle(name));
		*p++ = 'i';
		*p = '\0';
		free(demangle(name));
	}
}

/* f(a00..., a00..., ...), and f(a0000000, a0000000, ...) by back references. */
static void test_long_names(void **state)
{
	static const size_t lens[] = {10, 20, 50, 500, 900};

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		char *name scoped(freep) = xmalloc(lens[i] * 64 + 128), *p = name;
		char *wanted scoped(freep) = xmalloc(lens[i] * 64 + 128), *q = wanted;

		p += sprintf(p, "_Z1f");
		q += sprintf(q, "f(");
		for (size_t k = 0; k < lens[i]; k++) {
			p += sprintf(p, "60a%059zu", k);
			q += sprintf(q, "%sa%059zu", k ? ", " : "", k);
		}
		strcpy(q, ")");
		expect(name, wanted); /* of up to 55 KB */
		p = name + sprintf(name, "_Z1f8a0000000");
		q = wanted + sprintf(wanted, "f(a0000000");
		for (size_t k = 1; k < lens[i]; k++) {
			p = stpcpy(p, "S_");
			q = stpcpy(q, ", a0000000");
		}
		strcpy(q, ")");
		expect(name, wanted);
	}
}

/* A program's own: containers in containers, whose names unfold to megabytes. */
static void test_long_names_of_a_program(void **state)
{
	size_t nr = 0, nr_left = 0;

	(void)state;
	compare_all("d=$(mktemp -d) && printf '#include <map>\\n#include <string>\\n#include "
		    "<vector>\\ntemplate <int N> struct deep { using T = std::map<std::string, "
		    "std::pair<typename deep<N - 1>::T, std::vector<typename deep<N - 1>::T>>>; };"
		    "template <> struct deep<0> { using T = std::vector<int>; };"
		    "template <class... A> int all(A... a) { return sizeof...(a); }"
		    "int main() { deep<4>::T t; auto u = t; t.clear(); return all(t, u, "
		    "[u](auto) { return u; }); }' >$d/a.cc && g++ -w -std=c++17 -c -o $d/a.o "
		    "$d/a.cc && nm $d/a.o | sed 's/.* //' | grep '^_Z' | sort -u >$d/n && c++filt "
		    "-r -i <$d/n | cut -b 1-65536 | paste -d' ' $d/n -; rm -rf $d",
		    &nr, &nr_left);
	print_message("%zu names\n", nr);
	assert_true(nr > 500);
	assert_int_equal(nr_left, 0);
}

/* The CPU time of a name that is nearly as long as what it stands for, which is nearly as long as it may be. */
static uint64_t cost_of_long_name(void)
{
	char *name scoped(freep) = xmalloc(64 * 1024), *got scoped(freep) = NULL;
	char *p = name + sprintf(name, "_Z1f");
	uint64_t cost_ns;

	for (size_t i = 0; i < 1000; i++)
		p += sprintf(p, "60a%059zu", i);
	cost_ns = cost_of(name, &got);
	assert_non_null(got);
	assert_int_equal(strlen(got), 1000 * 62 + 1);
	return cost_ns;
}

/* What would print without end costs as much as what it prints, as that of another name does. */
static void test_hostile(void **state)
{
	size_t lens[] = {1u << 10, 64u << 10, 1u << 20};
	uint64_t cost_ns = 0, long_ns = 0;

	(void)state;
	for (size_t nr = 1; nr < 80; nr++) {
		char *name scoped(freep) = doubling_name(nr), *got scoped(freep) = NULL;

		long_ns += cost_of_long_name();
		cost_ns += cost_of(name, &got);
		assert_non_null(got);
		assert_true(strlen(got) == 64u << 10 || nr < 20);
	}
	print_message("%.1f times the CPU time of long names\n", (double)cost_ns / (double)long_ns);
	assert_true(cost_ns < 10 * long_ns);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		char *name scoped(freep) = xmalloc(lens[i] + 1), *got scoped(freep) = NULL;

		memset(name, 'P', lens[i]);
		memcpy(name, "_Z1f", 4);
		name[lens[i]] = '\0';
		free(demangle(name));
		memset(name + 4, 'S', lens[i] - 4);
		free(demangle(name));
		memcpy(name + lens[i] - 5, ".cold", 5);
		got = demangle(name);
		assert_int_equal(got != NULL, lens[i] <= 64u << 10);
	}
}

/* Binutils and libstdc++ put a call's callee into parentheses or not, by their age. */
static bool same_but_for_parentheses(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, "()");
		b += strspn(b, "()");
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

/* Runs command, whose lines are "raw display", and judges each. */
static void compare_all(const char *command, size_t *nr, size_t *nr_left)
{
	FILE *in = popen(command, "r");
	char *line scoped(freep) = NULL;
	size_t cap = 0;

	assert_non_null(in);
	while (getline(&line, &cap, in) > 0) {
		char *got scoped(freep) = NULL, *display = strchr(line, ' ');

		line[strcspn(line, "\n")] = '\0';
		if (!display)
			continue;
		*display++ = '\0';
		got = demangle(line);
		++*nr;
		if (!got && strcmp(line, display))
			++*nr_left;
		else if (got && !same_but_for_parentheses(got, display))
			fail_msg("%s: %s, not %s", line, got, display);
	}
	pclose(in);
}

static void test_against_cxxfilt(void **state)
{
	static const char *const files[] = {"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
					    "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
					    "/usr/lib/x86_64-linux-gnu/libprotobuf.so.32"};
	size_t nr = 0, nr_left = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *command scoped(freep) = xasprintf(
			"f=$(mktemp) && nm -D --defined-only %s | sed 's/.* //; s/@.*//' | grep "
			"'^_Z' | sort -u >$f && c++filt -i <$f | paste -d' ' $f -; rm -f $f",
			files[i]);

		if (access(files[i], R_OK) < 0)
			print_message("%s is not there\n", files[i]);
		else
			compare_all(command, &nr, &nr_left);
	}
	if (!nr)
		skip();
	print_message("%zu names as c++filt has them, %zu left mangled\n", nr - nr_left, nr_left);
	assert_int_equal(nr_left, 0);
}

/* With rustc: the names of a program of its own, in both manglings. */
static void test_rust_against_cxxfilt(void **state)
{
	size_t nr = 0, nr_left = 0;

	(void)state;
	if (system("rustc --version >/dev/null 2>&1")) {
		print_message("SKIP: no rustc\n");
		skip();
	}
	compare_all(
		"d=$(mktemp -d) && printf 'use std::collections::HashMap; fn main() { let mut m: "
		"HashMap<String, Vec<u8>> = HashMap::new(); m.insert(\"a\".into(), vec![1]); "
		"println!(\"{:?}\", m); }' >$d/a.rs && rustc -g -o $d/a $d/a.rs && nm $d/a | sed "
		"'s/.* //' | grep -E '^_ZN.*17h[0-9a-f]{16}E$' | sort -u >$d/n && c++filt -i <$d/n "
		"| "
		"paste -d' ' $d/n -; rm -rf $d",
		&nr, &nr_left);
	print_message("%zu Rust names\n", nr);
	assert_true(nr > 100);
	assert_int_equal(nr_left, 0);
}

/* Rust v0, by LLVM's demangler; statics have suffixes that each shows in its way. */
static void test_rust_v0_against_llvm(void **state)
{
	size_t nr = 0, nr_left = 0;

	(void)state;
	if (system("rustc --version >/dev/null 2>&1 && llvm-cxxfilt --version >/dev/null 2>&1")) {
		print_message("SKIP: no rustc or no llvm-cxxfilt\n");
		skip();
	}
	compare_all(
		"d=$(mktemp -d) && printf 'use std::collections::HashMap; fn main() { let mut "
		"m: HashMap<String, Vec<u8>> = HashMap::new(); m.insert(\"a\".into(), vec![1]); "
		"println!(\"{:?}\", m); }' >$d/a.rs && rustc -g -C symbol-mangling-version=v0 -o "
		"$d/a $d/a.rs && nm $d/a | sed 's/.* //' | grep -E '^_R[A-Za-z0-9_]+$' | sort -u "
		">$d/n && llvm-cxxfilt <$d/n | paste -d' ' $d/n -; rm -rf $d",
		&nr, &nr_left);
	print_message("%zu Rust v0 names\n", nr);
	assert_true(nr > 50);
	assert_int_equal(nr_left, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_rust_legacy),
		cmocka_unit_test(test_rust_v0),
		cmocka_unit_test(test_dlang),
		cmocka_unit_test(test_rust_v0_is_bounded),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_long_names_of_a_program),
		cmocka_unit_test(test_against_cxxfilt),
		cmocka_unit_test(test_rust_against_cxxfilt),
		cmocka_unit_test(test_rust_v0_against_llvm),
		cmocka_unit_test(
			test_hostile_in_silence), /* last: of long names no more are tried then */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
