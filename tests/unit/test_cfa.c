/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What call frame instructions and expressions come out as: each odd one once, in a function of its
 * own, with the rule it should have written down beside it.
 */
#include <stdlib.h>
#include <string.h>

#include "unit/ehframe_case.h"

/* One function of 256 bytes with these instructions; the rule at START + 16. */
static struct unwind_rule only(const uint8_t *insns, size_t nr_insns)
{
	struct unwind_table *table;
	struct unwind_rule rule;

	fresh();
	asm_fde(&as, asm_usual_cie(&as), START, 256, insns, nr_insns);
	table = table_of();
	rule = rule_at(table, START + 16);
	expect(table, START - 1, KIND(GAP));
	expect(table, START + 256, KIND(GAP));
	unwind_table_free(table);
	return rule;
}

static void expect_only(struct unwind_rule expected, const uint8_t *insns, size_t nr_insns)
{
	struct unwind_rule rule = only(insns, nr_insns);

	assert_memory_equal(&rule, &expected, sizeof(rule));
}

static void test_frames(void **state)
{
	(void)state;
	expect_only(SP(8), NO_INSNS);
	expect_only(SP(4088), INSNS(0x0e, 0xf8, 0x1f));
	expect_only(SP(4096), INSNS(0x0e, 0x80, 0x20)); /* the first that needs an extended rule */
	expect_only(SP(12), INSNS(0x0e, 12)); /* so does an offset that 8 does not divide */
	expect_only(SP_FP(16, -16), INSNS(0x0e, 16, 0x86, 2));
	expect_only(FP_FP(16, -16), INSNS(0x0e, 16, 0x86, 2, 0x0d, 6));
	expect_only(SP_FP(8, -256), INSNS(0x86, 32));
	expect_only(SP_FP(8, -264), INSNS(0x86, 33));	      /* extended */
	expect_only(SP_FP(8, -8), INSNS(0x86, 1));	      /* extended, and nonsense */
	expect_only(SP_FP(8, 16), INSNS(0x2f, 6, 2));	      /* GNU_negative_offset_extended */
	expect_only(SP_FP(8, -24), INSNS(0x05, 6, 3));	      /* offset_extended */
	expect_only(SP_FP(8, 24), INSNS(0x11, 6, 0x7d));      /* offset_extended_sf */
	expect_only(SP(24), INSNS(0x12, 7, 0x7d));	      /* def_cfa_sf */
	expect_only(SP(24), INSNS(0x13, 0x7d));		      /* def_cfa_offset_sf */
	expect_only(SP(8), INSNS(0x2e, 48));		      /* GNU_args_size */
	expect_only(SP(8), INSNS(0x83, 4, 0x8c, 5, 0x07, 3)); /* registers that nobody follows */
}

static void test_advance(void **state)
{
	struct unwind_table *table;

	(void)state;
	fresh();
	asm_fde(&as, asm_usual_cie(&as), START, 0x40000,
		INSNS(0x41, 0x0e, 16, 0x02, 3, 0x0e, 32, 0x03, 0x00, 0x02, 0x0e, 48, 0x04, 0, 0, 3,
		      0, 0x0e, 64, 0x01, 0, 0, 4, 0, 0, 0, 0, 0, 0x0e, 80));
	table = table_of();
	expect(table, START, SP(8));
	expect(table, START + 1, SP(16));
	expect(table, START + 3, SP(16));
	expect(table, START + 4, SP(32));
	expect(table, START + 0x203, SP(32));
	expect(table, START + 0x204, SP(48));
	expect(table, START + 0x30203, SP(48));
	expect(table, START + 0x30204, SP(64));
	expect(table, 0x3ffff, SP(64));
	expect(table, 0x40000, SP(80)); /* set_loc */
	expect(table, START + 0x3ffff, SP(80));
	expect(table, START + 0x40000, KIND(GAP));
	unwind_table_free(table);
}

static void test_expressions(void **state)
{
	(void)state;
	/* *(rbp-8), rbp stored at rbp+0: GCC's realigned stack */
	expect_only((struct unwind_rule){UNWIND_DEREF, 6, HOW(AT_FP, AT_CFA), 0, -8, 0, -8, 0},
		    INSNS(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0));
	/* *(rsp+40)+8, and the same written with lit8; plus */
	expect_only((struct unwind_rule){UNWIND_DEREF, 7, HOW(SAME, AT_CFA), 0, 40, 0, -8, 8},
		    INSNS(0x0f, 5, 0x77, 40, 0x06, 0x23, 8));
	expect_only((struct unwind_rule){UNWIND_DEREF, 7, HOW(SAME, AT_CFA), 0, 40, 0, -8, 8},
		    INSNS(0x0f, 5, 0x77, 40, 0x06, 0x38, 0x22));
	expect_only((struct unwind_rule){UNWIND_DEREF, 7, HOW(SAME, AT_CFA), 0, 0, 0, -8, -8},
		    INSNS(0x0f, 6, 0x92, 7, 0, 0x06, 0x38, 0x1c));
	/* rsp+8+r9*8 loaded, +8: OpenSSL */
	expect_only((struct unwind_rule){UNWIND_INDEXED, 7, HOW(SAME, AT_CFA), 0, 8, 0, 9, 8},
		    INSNS(0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8));
	/* the two PLTs */
	for (uint8_t end = 10; end <= 11; end++)
		expect_only(
			(struct unwind_rule){UNWIND_PLT, 0, HOW(SAME, AT_CFA), 0, end, 0, -8, 0},
			INSNS(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x30 + end, 0x2a, 0x33, 0x24,
			      0x22));
	/* a plain register and offset; and what has no shape: empty, lit8, two values, deref twice */
	expect_only(SP(24), INSNS(0x0f, 2, 0x77, 24));
	expect_only(KIND(UNSUPPORTED), INSNS(0x0f, 0));
	expect_only(KIND(UNSUPPORTED), INSNS(0x0f, 1, 0x38));
	expect_only(KIND(UNSUPPORTED), INSNS(0x0f, 4, 0x77, 8, 0x77, 8));
	expect_only(KIND(UNSUPPORTED), INSNS(0x0f, 4, 0x77, 8, 0x06, 0x06));
	expect_only(KIND(UNSUPPORTED), INSNS(0x0f, 1, 0x06));
	expect_only(KIND(UNSUPPORTED), INSNS(0x0f, 4, 0x31, 0x77, 8, 0x1c)); /* 1 - register */
	expect_only(KIND(UNSUPPORTED), INSNS(0x0f, 5, 0x31, 0x31, 0x31, 0x31, 0x31));
	expect_only(KIND(UNSUPPORTED), INSNS(0x0f, 3, 0x77, 8, 0x23)); /* cut off */
	expect_only(KIND(UNSUPPORTED), INSNS(0x0f, 9, 0x77, 8));       /* longer than the FDE */
}

static void test_registers(void **state)
{
	(void)state;
	/* vfork: the return address is in rdi */
	expect_only((struct unwind_rule){UNWIND_FRAME, 7, HOW(SAME, IN_REG), 0, 8, 0, 5, 0},
		    INSNS(0x09, 16, 5));
	/* at CFA-16, at rsp+24, at rbp+8 */
	expect_only((struct unwind_rule){UNWIND_FRAME, 7, HOW(SAME, AT_CFA), 0, 8, 0, -16, 0},
		    INSNS(0x90, 2));
	expect_only((struct unwind_rule){UNWIND_FRAME, 7, HOW(SAME, AT_SP), 0, 8, 0, 24, 0},
		    INSNS(0x10, 16, 2, 0x77, 24));
	expect_only((struct unwind_rule){UNWIND_FRAME, 7, HOW(SAME, AT_FP), 0, 8, 0, 8, 0},
		    INSNS(0x10, 16, 2, 0x76, 8));
	/* fp in r9, as a value of CFA-16, as an expression's value, lost */
	expect_only((struct unwind_rule){UNWIND_FRAME, 7, HOW(IN_REG, AT_CFA), 0, 8, 9, -8, 0},
		    INSNS(0x09, 6, 9));
	expect_only((struct unwind_rule){UNWIND_FRAME, 7, HOW(IS_CFA, AT_CFA), 0, 8, -16, -8, 0},
		    INSNS(0x14, 6, 2));
	expect_only((struct unwind_rule){UNWIND_FRAME, 7, HOW(IS_CFA, AT_CFA), 0, 8, 16, -8, 0},
		    INSNS(0x15, 6, 0x7e));
	expect_only((struct unwind_rule){UNWIND_FRAME, 7, HOW(IN_REG, AT_CFA), 0, 8, 12, -8, 0},
		    INSNS(0x16, 6, 2, 0x7c, 0));
	expect_only((struct unwind_rule){UNWIND_FRAME, 7, HOW(AT_SP, AT_CFA), 0, 8, 32, -8, 0},
		    INSNS(0x16, 6, 3, 0x77, 32, 0x06));
	expect_only((struct unwind_rule){UNWIND_FRAME, 7, HOW(LOST, AT_CFA), 0, 8, 0, -8, 0},
		    INSNS(0x07, 6));
	expect_only((struct unwind_rule){UNWIND_FRAME, 7, HOW(LOST, AT_CFA), 0, 8, 0, -8, 0},
		    INSNS(0x16, 6, 1, 0x38));
	expect_only(SP(8), INSNS(0x86, 2, 0x08, 6)); /* same_value */
	expect_only(SP(8), INSNS(0x86, 2, 0xc6));    /* restore: as the CIE has it */
	expect_only(SP(8), INSNS(0x86, 2, 0x06, 6));
	/* CFA counted from r10; from no general register */
	expect_only((struct unwind_rule){UNWIND_FRAME, 10, HOW(SAME, AT_CFA), 0, 0, 0, -8, 0},
		    INSNS(0x0c, 10, 0));
	expect_only(KIND(UNSUPPORTED), INSNS(0x0c, 17, 0));
	expect_only(KIND(UNSUPPORTED), INSNS(0x0c, 0x87, 0x80, 0x80, 0x80, 0x10, 0)); /* 7 + 2^32 */
	/* longjmp: everything in registers. With the return address on the stack it makes no sense. */
	expect_only((struct unwind_rule){UNWIND_FRAME, 8, HOW(IN_REG, IN_REG), 0, 0, 9, 1, 0},
		    INSNS(0x09, 7, 8, 0x09, 6, 9, 0x09, 16, 1));
	expect_only(KIND(UNSUPPORTED), INSNS(0x09, 7, 8));
	/* outermost, whatever else is said */
	expect_only(KIND(ROOT), INSNS(0x07, 16));
	expect_only(KIND(UNSUPPORTED), INSNS(0x08, 16));
}

static void test_remember(void **state)
{
	uint8_t deep[40];

	(void)state;
	expect_only(SP_FP(16, -16), INSNS(0x0e, 16, 0x86, 2, 0x0a, 0x0e, 8, 0xc6, 0x0b));
	expect_only(KIND(UNSUPPORTED), INSNS(0x0b));
	memset(deep, 0x0a, 16);
	memset(deep + 16, 0x0b, 16);
	expect_only(SP(8), deep, 32);
	memset(deep, 0x0a, 17);
	expect_only(KIND(UNSUPPORTED), deep, 34);
}

/* What is read before the damage holds; from there on the rule is "unsupported". */
static void test_damaged_instructions(void **state)
{
	static const uint8_t bad[][3] = {{0x3f}, {0x17}, {0x0e, 0x80}, {0x0f, 9, 0},
					 {0x02}, {0x0d}, {0x01, 1, 2}, {0x86, 0xff, 0xff}};
	static const uint8_t lens[] = {1, 1, 2, 3, 1, 1, 3, 3};

	(void)state;
	for (size_t i = 0; i < sizeof(lens); i++) {
		uint8_t insns[8] = {0x48, 0x0e, 16, 0x44};
		struct unwind_table *table;

		memcpy(insns + 4, bad[i], lens[i]);
		fresh();
		asm_fde(&as, asm_usual_cie(&as), START, 64, insns, 4u + lens[i]);
		table = table_of();
		expect(table, START + 7, SP(8));
		expect(table, START + 11, SP(16));
		expect(table, START + 12, KIND(UNSUPPORTED));
		expect(table, START + 63, KIND(UNSUPPORTED));
		expect(table, START + 64, KIND(GAP));
		assert_int_equal(table->stats.nr_damaged, 1);
		unwind_table_free(table);
	}
}

static void test_signal(void **state)
{
	/* CFA *(rsp+160); rsp there too, rip at rsp+168, rbp at rsp+120, rbx at rsp+128 */
	static const uint8_t insns[] = {0x0f, 4,    0x77, 0xa0, 0x01, 0x06, 0x10, 7,	3,    0x77,
					0xa0, 0x01, 0x10, 16,	3,    0x77, 0xa8, 0x01, 0x10, 6,
					3,    0x77, 0xf8, 0x00, 0x10, 3,    3,	  0x77, 0x80, 0x01};
	struct unwind_table *table;
	size_t cie;

	(void)state;
	fresh();
	cie = asm_cie(&as, &(struct asm_cie){"zRS", "\x04", 1, 0, 0, 0, true});
	asm_fde(&as, cie, START, 16, insns, sizeof(insns));
	asm_fde(&as, cie, START + 16, 16, INSNS(0x0c, 7, 8, 0x90, 1)); /* an unusual one */
	table = table_of();
	expect(table, START,
	       (struct unwind_rule){UNWIND_SIGNAL, 7, HOW(AT_SP, AT_SP), 0, 160, 120, 168, 128});
	expect(table, START + 16, KIND(UNSUPPORTED));
	unwind_table_free(table);
}

static void test_return_column(void **state)
{
	struct unwind_table *table;
	size_t cie;

	(void)state;
	fresh();
	cie = asm_cie(&as, &(struct asm_cie){"zR", "\x04", 1, 0, 2, 0, true});
	asm_fde(&as, cie, START, 16, INSNS(0x0c, 7, 0)); /* in rcx all along */
	table = table_of();
	expect(table, START,
	       (struct unwind_rule){UNWIND_FRAME, 7, HOW(SAME, IN_REG), 0, 0, 0, 2, 0});
	unwind_table_free(table);
}

/* A CIE's instructions run once, not for each FDE: 10^11 steps would not end. */
static void test_long_cie(void **state)
{
	enum {
		CIE_BYTES = 1 << 21,
		NR_FDES = 50000
	};
	size_t len = CIE_BYTES + NR_FDES * 29;
	uint8_t *bytes = calloc(1, len), *at = bytes + CIE_BYTES;
	struct ehframe_input input = {.arch = &unwind_x86,
				      .section = {.bytes = bytes, .len_bytes = len},
				      .code_limit = UINT64_MAX};
	uint32_t cie_len = CIE_BYTES - 4, fde_len = 25;
	struct unwind_table *table;

	(void)state;
	assert_non_null(bytes);
	fresh();
	asm_usual_cie(&as);
	memcpy(bytes, as.bytes, as.len);
	memcpy(bytes, &cie_len, 4);
	for (uint64_t i = 0; i < NR_FDES; i++, at += 29) {
		uint32_t back = (uint32_t)(at + 4 - bytes);
		uint64_t start = START + 16 * i, size = 16;

		memcpy(at, &fde_len, 4);
		memcpy(at + 4, &back, 4);
		memcpy(at + 8, &start, 8);
		memcpy(at + 16, &size, 8);
	}
	assert_int_equal(unwind_table_new(&input, &table), 0);
	assert_int_equal(table->stats.nr_fdes, NR_FDES);
	expect(table, START + 16 * NR_FDES - 1, SP(8));
	unwind_table_free(table);
	free(bytes);
}

static void check_ascending(void *ctx, const struct unwind_row *row)
{
	uint64_t *last = ctx;

	assert_true(row->elf_addr > *last);
	*last = row->elf_addr;
}

/* What is left of a pc-relative set_loc points beyond the function: no row may come twice. */
static void test_cut_set_loc(void **state)
{
	struct ehframe_input input;
	struct ehframe_stats stats;
	uint64_t last = 0;
	size_t cie, fde;

	(void)state;
	fresh();
	cie = asm_cie(&as, &(struct asm_cie){"zR", "\x1c", 1, 0, 0, 0, false});
	fde = asm_fde_begin(&as, cie);
	asm_uint(&as, START - (0x400000 + as.len), 8);
	asm_uint(&as, 64, 8);
	asm_uint(&as, 0, 1);
	asm_bytes(&as, INSNS(0x44, 0x0e, 16, 0x01, 1, 2, 3));
	asm_end(&as, fde);
	input = input_of();
	assert_int_equal(ehframe_rows(&input, check_ascending, &last, &stats), 0);
	assert_int_equal(last, START + 64);
	assert_int_equal(stats.nr_damaged, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),	    cmocka_unit_test(test_advance),
		cmocka_unit_test(test_expressions), cmocka_unit_test(test_registers),
		cmocka_unit_test(test_remember),    cmocka_unit_test(test_damaged_instructions),
		cmocka_unit_test(test_signal),	    cmocka_unit_test(test_return_column),
		cmocka_unit_test(test_long_cie),    cmocka_unit_test(test_cut_set_loc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
