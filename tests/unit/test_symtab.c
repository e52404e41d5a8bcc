// SPDX-License-Identifier: BSD-2-Clause
/*
 * Symbol look-ups against a brute-force reading of readelf's list, PLT stubs against objdump's.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <inttypes.h>
#include <malloc.h>

#include "base/clock.h"
#include "base/vec.h"
#include "elf_judge.h"
#include "object/symtab.h"

struct judged {
	uint64_t addr, len;
	char name[256];
};

struct judgement {
	vec_of(struct judged) symbols;
	vec_of(struct elf_section) code;
};

static bool in_code(const struct judgement *judgement, uint64_t addr, uint64_t *limit)
{
	for (size_t i = 0; i < judgement->code.nr; i++) {
		const struct elf_section *section = &judgement->code.at[i];

		*limit = section->elf_addr + section->len_bytes;
		if (addr >= section->elf_addr && addr < *limit)
			return true;
	}
	return false;
}

static void judge_symbols(struct judgement *judgement, const struct elf_file *file,
			  const char *path)
{
	FILE *in = judge_ask("readelf -sW %s 2>/dev/null", path);
	char line[8192];

	for (size_t i = 0; i < elf_file_nr_sections(file); i++) {
		struct elf_section section;

		assert_true(elf_file_section_header(file, i, &section));
		if (section.flags & SHF_EXECINSTR)
			vec_push(&judgement->code, section);
	}
	while (fgets(line, sizeof(line), in)) {
		char size[32], type[16], bind[16], vis[16], section[16];
		struct judged symbol = {0};
		uint64_t limit;

		if (sscanf(line, "%*[ 0-9]: %" SCNx64 " %31s %15s %15s %15s %15s %255[^@ \n]",
			   &symbol.addr, size, type, bind, vis, section, symbol.name) != 7)
			continue;
		symbol.len = strtoull(size, NULL, 0);
		if (!strcmp(section, "UND") ||
		    (strcmp(type, "FUNC") && strcmp(type, "IFUNC") &&
		     (strcmp(type, "NOTYPE") || (!symbol.len && !strcmp(bind, "LOCAL")))))
			continue;
		if (!in_code(judgement, symbol.addr, &limit) || symbol.name[0] == '$')
			continue;
		vec_push(&judgement->symbols, symbol);
	}
	pclose(in);
}

static void judgement_release(struct judgement *judgement)
{
	vec_release(&judgement->symbols);
	vec_release(&judgement->code);
}

/* The greatest start of what covers addr; 0: nothing does. */
static uint64_t innermost(const struct judgement *judgement, uint64_t addr)
{
	uint64_t best = 0;

	for (size_t i = 0; i < judgement->symbols.nr; i++) {
		const struct judged *symbol = &judgement->symbols.at[i];

		if (addr >= symbol->addr && addr - symbol->addr < symbol->len &&
		    symbol->addr > best)
			best = symbol->addr;
	}
	return best;
}

static bool has_name(const struct judgement *judgement, const struct symbol *symbol)
{
	for (size_t i = 0; i < judgement->symbols.nr; i++)
		if (judgement->symbols.at[i].addr == symbol->elf_addr &&
		    !strncmp(judgement->symbols.at[i].name, symbol->name, 255))
			return true;
	return false;
}

/* An unsized symbol may own what no sized one covers, up to the next symbol. */
static bool is_unsized(const struct judgement *judgement, uint64_t addr)
{
	bool found = false;

	for (size_t i = 0; i < judgement->symbols.nr; i++)
		if (judgement->symbols.at[i].addr == addr) {
			if (judgement->symbols.at[i].len)
				return false;
			found = true;
		}
	return found;
}

static void check_address(const struct judgement *judgement, const struct symtab *symtab,
			  uint64_t addr)
{
	uint64_t expected = innermost(judgement, addr);
	struct symbol symbol;
	bool found = symtab_find(symtab, addr, &symbol);

	if (found && strstr(symbol.name, "@plt"))
		return;
	if (found && is_unsized(judgement, symbol.elf_addr)) {
		assert_true(symbol.elf_addr >= expected);
		assert_true(has_name(judgement, &symbol));
		return;
	}
	if (found != (expected != 0))
		fail_msg("0x%" PRIx64 ": %s, expected start 0x%" PRIx64, addr,
			 found ? symbol.name : "nothing", expected);
	if (!found)
		return;
	assert_int_equal(symbol.elf_addr, expected);
	assert_true(addr - symbol.elf_addr < symbol.len_bytes);
	assert_true(has_name(judgement, &symbol));
}

/* last: the offset of a byte that each stub still has. */
static void check_plt(const struct symtab *symtab, const char *path, const char *sections,
		      uint64_t last, size_t least)
{
	char *command scoped(freep) =
		xasprintf("objdump -d %s %%s 2>/dev/null | "
			  "sed -n 's/^\\([0-9a-f]*\\) <\\(.*@plt\\)>:/\\1 \\2/p' | "
			  "grep -v -e 'ABS' -e '@plt-'",
			  sections);
	FILE *in = judge_ask(command, path);
	char name[1024];
	uint64_t addr;
	size_t nr = 0;

	while (fscanf(in, "%" SCNx64 " %1023s", &addr, name) == 2) {
		struct symbol symbol;

		nr++;
		assert_true(symtab_find(symtab, addr + last, &symbol));
		assert_int_equal(symbol.elf_addr, addr);
		assert_string_equal(symbol.name, name);
	}
	pclose(in);
	print_message("  %s: %zu PLT stubs\n", path, nr);
	assert_true(nr >= least);
}

/* As many addresses as brute force allows, the edges of symbols first. */
static void check_file(const char *path, size_t least, size_t least_plt, size_t least_plt_got)
{
	struct elf_file *file = judge_open(path);
	struct symtab *symtab = symtab_new(file);
	struct judgement judgement = {0};
	size_t step;

	judge_symbols(&judgement, file, path);
	elf_file_close(file);
	assert_true(judgement.symbols.nr >= least);
	step = 1 + judgement.symbols.nr / 3000;
	for (size_t i = 0; i < judgement.symbols.nr; i += step) {
		const struct judged *symbol = &judgement.symbols.at[i];

		check_address(&judgement, symtab, symbol->addr);
		check_address(&judgement, symtab, symbol->addr - 1);
		check_address(&judgement, symtab, symbol->addr + symbol->len / 2);
		check_address(&judgement, symtab, symbol->addr + symbol->len - 1);
		check_address(&judgement, symtab, symbol->addr + symbol->len);
	}
	check_plt(symtab, path, "-j .plt -j .plt.sec", 15, least_plt);
	check_plt(symtab, path, "-j .plt.got", 7, least_plt_got);
	print_message("  %s: %zu symbols of readelf's %zu lines\n", path, symtab_nr(symtab),
		      judgement.symbols.nr);
	judgement_release(&judgement);
	symtab_free(symtab);
}

static void test_against_readelf(void **state)
{
	(void)state;
	check_file("pie", 10, 3, 1);
	check_file("fixed", 10, 3, 0);
	check_file("static", 800, 0, 0);
	check_file("ibt", 10, 3, 1);
	check_file("pie.debug", 10, 0, 0);
	check_file(LIBC, 1000, 5, 0);
}

static void test_debug_file(void **state)
{
	struct elf_file *libc = judge_open(LIBC);
	const char *id = elf_file_build_id(libc);
	char *path scoped(freep) = xasprintf("/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);

	(void)state;
	elf_file_close(libc);
	if (access(path, R_OK) < 0) {
		print_message("SKIP: no libc6-dbg\n");
		skip();
	}
	check_file(path, 3000, 0, 0);
}

static void expect(const struct symtab *symtab, uint64_t addr, const char *name)
{
	struct symbol symbol;

	assert_true(symtab_find(symtab, addr, &symbol));
	assert_string_equal(symbol.name, name);
}

static uint64_t lookup(const struct symtab *symtab, const char *name, bool ifunc_expected)
{
	struct symbol symbol;
	bool is_ifunc = !ifunc_expected;

	if (!symtab_lookup(symtab, name, &symbol, &is_ifunc))
		fail_msg("%s is not there", name);
	assert_string_equal(symbol.name, name);
	assert_int_equal(is_ifunc, ifunc_expected);
	return symbol.elf_addr;
}

static void test_rules(void **state)
{
	static const char *const with_symbols[] = {"pie", "fixed", "static", "pie.debug"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct elf_file *file = judge_open(with_symbols[i]);
		struct symtab *symtab = symtab_new(file);
		uint64_t addr;
		struct symbol symbol;
		bool is_ifunc;

		elf_file_close(file);
		addr = lookup(symtab, "enclosing", false);
		expect(symtab, addr, "enclosing");
		expect(symtab, addr + 15, "enclosing");
		expect(symtab, addr + 16, "inner");
		expect(symtab, addr + 23, "inner");
		expect(symtab, addr + 24, "enclosing"); /* not .Lhidden, and not lost */
		expect(symtab, addr + 32, "enclosing");
		assert_false(symtab_find(symtab, addr + 33, &symbol)); /* padding has no name */
		addr = lookup(symtab, "unsized", false);
		expect(symtab, addr + 8, "unsized"); /* up to no_type */
		expect(symtab, addr + 9, "no_type");
		addr = lookup(symtab, "outer", false);
		assert_int_equal(lookup(symtab, "alias_of_outer", false), addr);
		assert_int_equal(lookup(symtab, "weak_of_outer", false), addr);
		expect(symtab, addr, "alias_of_outer"); /* neither the weak one nor the shorter */
		lookup(symtab, "chosen", true);
		assert_false(symtab_lookup(symtab, "nonesuch", &symbol, &is_ifunc));
		assert_false(symtab_find(symtab, 0, &symbol));
		assert_false(symtab_find(symtab, UINT64_MAX, &symbol));
		symtab_free(symtab);
	}
}

/* What an assembler file of the test's own makes. */
static struct symtab *assemble(const char *source)
{
	char *path scoped(freep) = xasprintf("%s/made.s", judge_dir);
	FILE *out = fopen(path, "w");
	struct elf_file *file;
	struct symtab *symtab;

	assert_non_null(out);
	fputs(source, out);
	fclose(out);
	judge_run("gcc -shared -nostdlib -Wl,-z,noseparate-code -o made.so made.s");
	file = judge_open("made.so");
	symtab = symtab_new(file);
	elf_file_close(file);
	return symtab;
}

/* Names of one address, each better than those before it, as perf chooses; the gap after them has none. */
static void test_best_alias(void **state)
{
	static const struct {
		const char *name, *about;
	} aliases[] = {
		{"an_unsized_name", ".globl an_unsized_name\n.type an_unsized_name,@function\n"},
		{"no_type_but_global", ".globl no_type_but_global\n.size no_type_but_global,16\n"},
		{"weak_one", ".weak weak_one\n.type weak_one,@function\n.size weak_one,16\n"},
		{"local_one", ".type local_one,@function\n.size local_one,16\n"},
		{"__global", ".globl __global\n.type __global,@function\n.size __global,16\n"},
		{"_global", ".globl _global\n.type _global,@function\n.size _global,16\n"},
		{"shorter", ".globl shorter\n.type shorter,@function\n.size shorter,16\n"},
		{"is_longer", ".globl is_longer\n.type is_longer,@function\n.size is_longer,16\n"},
	};
	char source[4096];
	size_t len = 0;

	(void)state;
	/* The best one comes first and last in turn, so that the order in the table does not decide. */
	for (size_t nr = 1; nr <= sizeof(aliases) / sizeof(aliases[0]); nr++) {
		struct symbol symbol;
		struct symtab *symtab;
		uint64_t addr;

		len = snprintf(source, sizeof(source), ".text\n.skip 64,0xcc\n");
		for (size_t i = 0; i < nr; i++) {
			size_t at = nr % 2 ? i : nr - 1 - i;

			len += snprintf(source + len, sizeof(source) - len, "%s:\n%s",
					aliases[at].name, aliases[at].about);
		}
		snprintf(source + len, sizeof(source) - len,
			 ".skip 16,0x90\n.skip 64,0xcc\n.globl behind\nbehind:\n.size "
			 "behind,1\nret\n");
		symtab = assemble(source);
		addr = lookup(symtab, aliases[nr - 1].name, false);
		expect(symtab, addr + 15, aliases[nr - 1].name);
		if (nr > 1)
			assert_false(symtab_find(symtab, addr + 16, &symbol));
		symtab_free(symtab);
	}
}

/* A function without a size ends where its call frame information does; without any, at the next function. */
static void test_unsized_ends(void **state)
{
	static const char source[] =
		".text\n"
		".globl bare\n.type bare,@function\nbare:\n.skip 16,0x90\n"
		"nameless:\n.cfi_startproc\n.skip 16,0x90\nret\n.cfi_endproc\n"
		".skip 15,0xcc\n"
		".globl framed\n.type framed,@function\nframed:\n.cfi_startproc\n"
		".skip 16,0x90\nret\n.cfi_endproc\n"
		".skip 31,0xcc\n.globl behind\n.type behind,@function\n"
		"behind:\nret\n.size behind,1\n";
	struct symtab *symtab = assemble(source);
	uint64_t bare = lookup(symtab, "bare", false), framed = lookup(symtab, "framed", false);
	struct symbol symbol;

	(void)state;
	expect(symtab, bare + 15, "bare");
	assert_false(symtab_find(symtab, bare + 16, &symbol));
	expect(symtab, framed + 16, "framed");
	assert_false(symtab_find(symtab, framed + 17, &symbol));
	expect(symtab, lookup(symtab, "behind", false), "behind");
	symtab_free(symtab);
}

/* Labels and what LTO leaves behind are no functions. */
static void test_labels(void **state)
{
	static const char source[] =
		".text\n.globl real\n.type real,@function\nreal:\n.skip 16,0x90\n"
		"$x.1:\n.type $x.1,@function\nfoo.cpp.1a2b3c4d:\n.skip 16,0x90\n"
		".size real,32\n";
	struct symtab *symtab = assemble(source);
	uint64_t addr = lookup(symtab, "real", false);
	struct symbol symbol;
	bool is_ifunc;

	(void)state;
	expect(symtab, addr + 16, "real");
	expect(symtab, addr + 31, "real");
	assert_false(symtab_lookup(symtab, "$x.1", &symbol, &is_ifunc));
	assert_false(symtab_lookup(symtab, "foo.cpp.1a2b3c4d", &symbol, &is_ifunc));
	symtab_free(symtab);
}

/* What NASM calls global has no type and no size: it begins where it stands, and ends what stands before it. */
static void test_assembler_functions(void **state)
{
	static const char source[] =
		".text\n.globl typed\n.type typed,@function\ntyped:\n.skip 16,0x90\n"
		".globl untyped\nuntyped:\n.skip 8,0x90\nlocal_label:\n.skip 8,0x90\n"
		".weak weak_untyped\nweak_untyped:\n.skip 16,0x90\n"
		".globl sized\n.type sized,@function\nsized:\n.skip 8,0x90\n"
		".globl in_a_symbol\nin_a_symbol:\n.skip 8,0x90\n.size sized,16\n"
		".globl __start_of\n__start_of:\n"
		".cfi_startproc\n.skip 8,0x90\n"
		".globl in_a_function\nin_a_function:\n.skip 8,0x90\n.cfi_endproc\n"
		".globl _etext\n_etext:\n.skip 16,0x90\n";
	struct symtab *symtab = assemble(source);
	uint64_t typed = lookup(symtab, "typed", false);
	struct symbol symbol;

	(void)state;
	expect(symtab, typed + 15, "typed");
	expect(symtab, typed + 16, "untyped");
	expect(symtab, typed + 31, "untyped");
	expect(symtab, typed + 32, "weak_untyped");
	expect(symtab, typed + 47, "weak_untyped");
	expect(symtab, typed + 56, "sized");
	for (uint64_t offset = 64; offset < 96; offset += 8)
		assert_false(symtab_find(symtab, typed + offset, &symbol));
	symtab_free(symtab);
}

static void test_without_symbols(void **state)
{
	struct elf_file *object_file = judge_open("a.o"), *stripped = judge_open("stripped");
	struct symtab *symtab = symtab_new(object_file);
	struct symbol symbol;
	bool is_ifunc;

	(void)state;
	assert_int_equal(symtab_nr(symtab), 0);
	assert_false(symtab_find(symtab, 0, &symbol));
	symtab_free(symtab);
	symtab = symtab_new(NULL);
	assert_int_equal(symtab_nr(symtab), 0);
	symtab_free(symtab);
	/* What is imported is not defined here; its stub is. */
	symtab = symtab_new(stripped);
	assert_false(symtab_lookup(symtab, "malloc", &symbol, &is_ifunc));
	assert_true(symtab_lookup(symtab, "malloc@plt", &symbol, &is_ifunc));
	symtab_free(symtab);
	symtab_free(NULL);
	elf_file_close(object_file);
	elf_file_close(stripped);
}

/* nm knows where libc has its allocator. */
static void test_libc_allocator(void **state)
{
	static const char *const names[] = {"malloc",	      "free",	      "calloc",
					    "realloc",	      "cfree",	      "memalign",
					    "posix_memalign", "aligned_alloc"};
	struct elf_file *file = judge_open(LIBC);
	struct symtab *symtab = symtab_new(file);

	(void)state;
	elf_file_close(file);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *command scoped(freep) = xasprintf(
			"nm -D --defined-only %%s | sed -n 's/ [TW] %s@.*//p' | tail -1", names[i]);
		FILE *in = judge_ask(command, LIBC);
		uint64_t addr = 0;

		if (fscanf(in, "%" SCNx64, &addr) == 1)
			assert_int_equal(lookup(symtab, names[i], false), addr);
		else
			assert_string_equal(names[i], "cfree");
		pclose(in);
	}
	lookup(symtab, "strlen", true);
	/* cfree is an alias of an old version, and longer */
	expect(symtab, lookup(symtab, "free", false), "free");
	expect(symtab, lookup(symtab, "malloc", false), "malloc");
	symtab_free(symtab);
}

/* Figures, nothing asserted. */
static void test_cost(void **state)
{
	static const char *const files[] = {LIBC, "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
		uint64_t begin = clock_monotonic_ns(), built;
		struct elf_file *file = NULL;
		struct symtab *symtab;

		if (elf_file_open(judge_fd(files[i]), &file) < 0)
			continue;
		symtab = symtab_new(file);
		elf_file_close(file);
		built = clock_monotonic_ns();
		print_message("  %s: %zu symbols, %.1f ms, %zu KiB\n", files[i], symtab_nr(symtab),
			      (double)(built - begin) / 1e6,
			      (mallinfo2().uordblks + mallinfo2().hblkhd - before) / 1024);
		symtab_free(symtab);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_readelf), cmocka_unit_test(test_debug_file),
		cmocka_unit_test(test_rules),		cmocka_unit_test(test_without_symbols),
		cmocka_unit_test(test_libc_allocator),	cmocka_unit_test(test_cost),
		cmocka_unit_test(test_best_alias),	cmocka_unit_test(test_unsized_ends),
		cmocka_unit_test(test_labels),		cmocka_unit_test(test_assembler_functions),
	};

	judge_build();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
