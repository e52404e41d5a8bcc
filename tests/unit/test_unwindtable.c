/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How rows are packed: runs, padding, pages, the extended table and its limits. Each test has the rule
 * it expects at every single address from the rows that were asked for, not from the table.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "unwind/tablebuild.h"
#include "unit/cfi_asm.h"

static struct cfi_asm as;

static struct unwind_table *table_of(void)
{
	struct ehframe_input input = {
		.arch = &unwind_x86,
		.section = {.bytes = as.bytes, .len_bytes = as.len},
		.code_limit = UINT64_MAX,
	};
	struct unwind_table *table;

	assert_int_equal(unwind_table_new(&input, &table), 0);
	return table;
}

static size_t fresh(void)
{
	as = (struct cfi_asm){0};
	return asm_usual_cie(&as);
}

/* The CFA offset at elf_addr; -1 for a gap. Everything in these tests is rsp + off. */
static int cfa_at(const struct unwind_table *table, uint64_t elf_addr)
{
	struct unwind_rule rule;

	if (!unwind_table_find(table, elf_addr, &rule) || rule.kind == UNWIND_GAP)
		return -1;
	assert_int_equal(rule.kind, UNWIND_FRAME);
	assert_int_equal(rule.cfa_reg, X86_REG_SP);
	return rule.cfa_off;
}

/* Steps of `bytes` code bytes and `delta` on the CFA offset, from 64 at start. */
static void check_steps(uint64_t start, unsigned nr, unsigned bytes, int delta, unsigned max_rows)
{
	uint8_t insns[64] = {0x0e, 64};
	size_t len = 2, cie = fresh();
	struct unwind_table *table;

	for (unsigned i = 1; i <= nr; i++) {
		insns[len++] = (uint8_t)(0x40 + bytes);
		insns[len++] = 0x0e;
		insns[len++] = (uint8_t)(64 + delta * (int)i);
	}
	asm_fde(&as, cie, start, 64, insns, len);
	table = table_of();
	for (unsigned pc = 0; pc < 64; pc++) {
		unsigned step = pc / bytes < nr ? pc / bytes : nr;

		assert_int_equal(cfa_at(table, start + pc), 64 + delta * (int)step);
	}
	assert_int_equal(cfa_at(table, start - 1), -1);
	assert_int_equal(cfa_at(table, start + 64), -1);
	assert_in_range(table->nr_rows, 1, max_rows);
	unwind_table_free(table);
}

static void test_runs(void **state)
{
	(void)state;
	/* the gap before and the gap behind are a row each */
	for (unsigned nr = 0; nr <= 7; nr++) {
		check_steps(0x1010, nr, 1, 8, 2 + (nr + 4) / 4);
		check_steps(0x1010, nr, 2, 8, 2 + (nr + 4) / 4);
		check_steps(0x1010, nr, 1, -8, 2 + (nr + 4) / 4);
		check_steps(0x1010, nr, 2, -8, 2 + (nr + 4) / 4);
		check_steps(0x1010, nr, 3, 8, 3 + nr); /* not runs: other widths and steps */
		check_steps(0x1010, nr, 1, 4, 3 + nr);
	}
	for (uint64_t start = 0x1fe0; start < 0x2002; start++) { /* across a page boundary */
		check_steps(start, 7, 1, 8, 8);
		check_steps(start, 7, 2, 8, 8);
		check_steps(start, 7, 2, -8, 8);
	}
}

/* A step up and one down, one of another width: the run ends, and the rules are right. */
static void test_mixed_runs(void **state)
{
	static const int expected[] = {8, 16, 16, 24, 16, 8, 8, 16};
	size_t cie = fresh();
	struct unwind_table *table;

	(void)state;
	asm_fde(&as, cie, 0x1000, 16,
		INSNS(0x41, 0x0e, 16, 0x42, 0x0e, 24, 0x41, 0x0e, 16, 0x41, 0x0e, 8, 0x42, 0x0e,
		      16));
	table = table_of();
	for (unsigned pc = 0; pc < 8; pc++)
		assert_int_equal(cfa_at(table, 0x1000 + pc), expected[pc]);
	unwind_table_free(table);
}

static void test_padding(void **state)
{
	(void)state;
	for (unsigned gap = 0; gap < 40; gap++) {
		size_t cie = fresh();
		struct unwind_table *table;

		asm_fde(&as, cie, 0x1000, 0x20, INSNS(0x0e, 32));
		asm_fde(&as, cie, 0x1020 + gap, 0x20, INSNS(0x0e, 48, 0x41, 0x0e, 64));
		table = table_of();
		assert_int_equal(cfa_at(table, 0x101f), 32);
		for (unsigned pc = 0x1020; pc < 0x1020 + gap; pc++)
			assert_int_equal(cfa_at(table, pc), gap < UNWIND_PADDING_BYTES ? 48 : -1);
		assert_int_equal(cfa_at(table, 0x1020 + gap), 48);
		assert_int_equal(cfa_at(table, 0x1021 + gap), 64);
		unwind_table_free(table);
	}
}

/* As glibc's clone: a leaf, the system call undescribed, a function without a caller. */
static void check_clone(unsigned gap, uint8_t cfa)
{
	size_t cie = fresh();
	struct unwind_table *table;
	struct unwind_rule rule;
	bool is_clone = gap < UNWIND_PADDING_BYTES && cfa == 8;

	asm_fde(&as, cie, 0x1000, 0x20, INSNS(0x0e, cfa));
	asm_fde(&as, cie, 0x1020 + gap, 0x20, INSNS(0x07, 16));
	table = table_of();
	assert_true(unwind_table_find(table, 0x1020 + gap, &rule));
	assert_int_equal(rule.kind, UNWIND_ROOT);
	for (unsigned pc = 0x1020; pc < 0x1020 + gap; pc++) {
		assert_true(unwind_table_find(table, pc, &rule));
		assert_int_equal(rule.kind, is_clone ? UNWIND_CLONE : UNWIND_GAP);
	}
	unwind_table_free(table);
}

static void test_clone(void **state)
{
	(void)state;
	for (unsigned gap = 0; gap < 20; gap++) {
		check_clone(gap, 8);
		check_clone(gap, 16);
	}
}

static void test_pages(void **state)
{
	size_t cie = fresh();
	struct unwind_table *table;

	(void)state;
	asm_fde(&as, cie, 0x1234, 0x5000, INSNS(0x0e, 16, 0x03, 0xcc, 0x2d, 0x0e, 24));
	table = table_of();
	assert_int_equal(table->start, 0x1000);
	assert_int_equal(table->nr_pages, 6);
	assert_int_equal(table->nr_rows, 1 + 1 + 5 + 1); /* gap, first, each page's, last gap */
	assert_int_equal(cfa_at(table, 0x1233), -1);
	assert_int_equal(cfa_at(table, 0x1234), 16);
	assert_int_equal(cfa_at(table, 0x3000), 16);
	assert_int_equal(cfa_at(table, 0x3fff), 16);
	assert_int_equal(cfa_at(table, 0x4000), 24);
	assert_int_equal(cfa_at(table, 0x6233), 24);
	assert_int_equal(cfa_at(table, 0x6234), -1);
	assert_int_equal(cfa_at(table, 0x7000), -1);
	assert_int_equal(cfa_at(table, 0), -1);
	unwind_table_free(table);
}

static void test_code_that_ends_with_a_page(void **state)
{
	size_t cie = fresh();
	struct unwind_table *table;

	(void)state;
	asm_fde(&as, cie, 0x1000, 0x1000, NO_INSNS);
	table = table_of();
	assert_int_equal(table->nr_pages, 1);
	assert_int_equal(table->nr_rows, 1);
	assert_int_equal(cfa_at(table, 0x1fff), 8);
	assert_int_equal(cfa_at(table, 0x2000), -1);
	unwind_table_free(table);
}

static void test_too_far(void **state)
{
	const uint64_t reach = (uint64_t)UNWIND_TABLE_MAX_PAGES * X86_PAGE_BYTES;
	size_t cie = fresh();
	struct unwind_table *table;

	(void)state;
	asm_fde(&as, cie, 0x1000, 16, NO_INSNS);
	asm_fde(&as, cie, 0x2000, 1ull << 40, INSNS(0x0e, 16));
	table = table_of();
	assert_true(table->truncated);
	assert_int_equal(table->nr_pages, UNWIND_TABLE_MAX_PAGES);
	assert_int_equal(cfa_at(table, 0x1000), 8);
	assert_int_equal(cfa_at(table, 0x1000 + reach - 1), 16);
	assert_int_equal(cfa_at(table, 0x1000 + reach), -1);
	unwind_table_free(table);
}

static void test_empty(void **state)
{
	struct unwind_table *table;
	struct unwind_rule rule;

	(void)state;
	as = (struct cfi_asm){0};
	table = table_of();
	assert_int_equal(table->nr_pages, 0);
	assert_false(unwind_table_find(table, 0, &rule));
	unwind_table_free(table);
	unwind_table_free(NULL);
}

static void test_uniform(void **state)
{
	struct unwind_table *table =
		unwind_table_uniform(&unwind_x86, 0x401000, 0x403800, UNWIND_FP);
	struct unwind_rule rule;

	(void)state;
	assert_int_equal(table->nr_pages, 3);
	assert_true(unwind_table_find(table, 0x401000, &rule) && rule.kind == UNWIND_FP);
	assert_true(unwind_table_find(table, 0x4037ff, &rule) && rule.kind == UNWIND_FP);
	assert_true(unwind_table_find(table, 0x403800, &rule) && rule.kind == UNWIND_GAP);
	assert_false(unwind_table_find(table, 0x400fff, &rule));
	unwind_table_free(table);
}

/* More distinct rules than the extended table holds: unsupported, counted, and the rest is right. */
static void test_full_extended(void **state)
{
	const unsigned nr = UNWIND_MAX_EXTENDED - UNWIND_NR_FIXED_EXTENDED;
	static uint8_t section[64 + 5 * UNWIND_MAX_EXTENDED];
	struct ehframe_input input = {
		.arch = &unwind_x86, .section = {.bytes = section}, .code_limit = UINT64_MAX};
	struct unwind_table *table;
	size_t cie = fresh(), fde = asm_fde_begin(&as, cie), len;
	uint32_t fde_len;

	(void)state;
	asm_uint(&as, 0x1000, 8);
	asm_uint(&as, 0x8000, 8);
	asm_uint(&as, 0, 1);
	len = as.len;
	for (unsigned i = 0; i <= nr; i++) { /* CFA = rsp + an odd offset */
		unsigned off = 2 * i + 1;

		section[len++] = 0x0e;
		section[len++] = (uint8_t)(off | 0x80);
		section[len++] = (uint8_t)(off >> 7 | 0x80);
		section[len++] = (uint8_t)(off >> 14);
		section[len++] = 0x41;
	}
	fde_len = (uint32_t)(len - fde - 4);
	memcpy(as.bytes + fde, &fde_len, 4);
	memcpy(section, as.bytes, as.len);
	input.section.len_bytes = len;
	assert_int_equal(unwind_table_new(&input, &table), 0);
	assert_int_equal(table->nr_extended, UNWIND_MAX_EXTENDED);
	assert_int_equal(table->nr_extended_dropped, 1);
	for (unsigned i = 0; i <= nr; i++) {
		struct unwind_rule rule;

		assert_true(unwind_table_find(table, 0x1000 + i, &rule));
		assert_int_equal(rule.kind, i < nr ? UNWIND_FRAME : UNWIND_UNSUPPORTED);
		assert_int_equal(rule.cfa_off, i < nr ? 2 * i + 1 : 0);
	}
	unwind_table_free(table);
}

/* A CFA counted from rbx anywhere: all rules say where rbx is. Without one, none does. */
static void test_rbx(void **state)
{
	static const uint8_t insns[] = {0x41, 0x0e, 16, 0x83, 2, 0x43, 0x0d, 3};
	struct unwind_rule rule;

	(void)state;
	for (unsigned with = 0; with < 2; with++) {
		size_t cie = fresh();
		struct unwind_table *table;

		asm_fde(&as, cie, 0x1000, 16, insns, with ? sizeof(insns) : 5);
		asm_fde(&as, cie, 0x1010, 16, INSNS(0x0e, 24, 0x83, 3));
		table = table_of();
		assert_int_equal(table->tracks_extra, with);
		assert_true(unwind_table_find(table, 0x1000, &rule));
		assert_int_equal(rule.extra_slot, with);
		assert_true(unwind_table_find(table, 0x1001, &rule));
		assert_int_equal(rule.extra_slot, 2 * with);
		assert_true(unwind_table_find(table, 0x1004, &rule));
		assert_int_equal(rule.cfa_reg, with ? X86_REG_BX : X86_REG_SP);
		assert_true(unwind_table_find(table, 0x101f, &rule));
		assert_int_equal(rule.extra_slot, 3 * with);
		unwind_table_free(table);
	}
}

/* Every inline rule survives being unpacked and packed again. */
static void test_packing(void **state)
{
	(void)state;
	for (uint32_t cfa = 0; cfa <= X86_RULE_CFA_MASK; cfa++) {
		for (uint32_t slot = 0; slot <= X86_RULE_FP_MASK; slot++) {
			uint32_t packed = cfa << X86_RULE_CFA_SHIFT | slot << X86_RULE_FP_SHIFT;
			struct unwind_rule rule = x86_rule_unpack(packed, 9);

			assert_int_equal(x86_rule_pack(&rule), packed);
			rule.cfa_reg = X86_REG_FP;
			assert_int_equal(x86_rule_pack(&rule), packed | X86_RULE_BASE_FP);
			rule.cfa_reg = X86_REG_BX;
			assert_int_equal(x86_rule_pack(&rule), UNWIND_RULE_EXTENDED);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),	cmocka_unit_test(test_mixed_runs),
		cmocka_unit_test(test_padding), cmocka_unit_test(test_clone),
		cmocka_unit_test(test_pages),	cmocka_unit_test(test_code_that_ends_with_a_page),
		cmocka_unit_test(test_too_far), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_uniform), cmocka_unit_test(test_full_extended),
		cmocka_unit_test(test_rbx),	cmocka_unit_test(test_packing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
