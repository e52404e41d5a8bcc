/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reader, the interpreter and the table on sections made by hand: each odd construct once, what
 * it has to come out as written down beside it. (test_ehframe_oracle has real files and libdw.)
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "object/unwindtable.h"
#include "unit/cfi_asm.h"

#define START 0x1000

static struct cfi_asm as;

static void fresh(void)
{
	as = (struct cfi_asm){0};
}

static struct ehframe_input input_of(void)
{
	return (struct ehframe_input){
		.section = {.bytes = as.bytes,
			    .len_bytes = as.len,
			    .elf_addr = 0x400000,
			    .text_addr = 0x700,
			    .data_addr = 0x900,
			    .debug_frame = as.debug_frame},
		.code_limit = UINT64_MAX,
	};
}

static struct unwind_table *table_of(void)
{
	struct ehframe_input input = input_of();
	struct unwind_table *table;

	assert_int_equal(unwind_table_new(&input, &table), 0);
	return table;
}

static struct unwind_rule rule_at(const struct unwind_table *table, uint64_t elf_addr)
{
	struct unwind_rule rule;

	if (!unwind_table_find(table, elf_addr, &rule))
		rule = (struct unwind_rule){.kind = UNWIND_GAP};
	return rule;
}

static void expect(const struct unwind_table *table, uint64_t elf_addr, struct unwind_rule expected)
{
	struct unwind_rule rule = rule_at(table, elf_addr);

	assert_memory_equal(&rule, &expected, sizeof(rule));
}

#define HOW(fp, ra) (uint8_t)(UNWIND_##fp | UNWIND_##ra << 4)
#define KIND(k)	    ((struct unwind_rule){.kind = UNWIND_##k})
/* CFA = rsp + off, return address below it; fp unchanged, or stored at CFA + fp. */
#define SP(off)	      ((struct unwind_rule){UNWIND_FRAME, 7, HOW(SAME, AT_CFA), 0, off, 0, -8, 0})
#define SP_FP(off, f) ((struct unwind_rule){UNWIND_FRAME, 7, HOW(AT_CFA, AT_CFA), 0, off, f, -8, 0})
#define FP_FP(off, f) ((struct unwind_rule){UNWIND_FRAME, 6, HOW(AT_CFA, AT_CFA), 0, off, f, -8, 0})

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
	expect_only(SP(4096), INSNS(0x0e, 0x80, 0x20)); /* the first that is wide */
	expect_only(SP(12), INSNS(0x0e, 12));		/* so is what 8 does not divide */
	expect_only(SP_FP(16, -16), INSNS(0x0e, 16, 0x86, 2));
	expect_only(FP_FP(16, -16), INSNS(0x0e, 16, 0x86, 2, 0x0d, 6));
	expect_only(SP_FP(8, -256), INSNS(0x86, 32));
	expect_only(SP_FP(8, -264), INSNS(0x86, 33));	      /* wide */
	expect_only(SP_FP(8, -8), INSNS(0x86, 1));	      /* wide, and nonsense */
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

/* One CIE with this augmentation, one FDE whose address words are addr and len. */
static struct unwind_table *encoded(const char *augmentation, const char *data, size_t data_len,
				    uint64_t addr, uint64_t len, size_t word_len)
{
	size_t cie, fde;

	fresh();
	cie = asm_cie(&as, &(struct asm_cie){augmentation, data, data_len, 0, 0, 0, false});
	fde = asm_fde_begin(&as, cie);
	asm_uint(&as, addr, word_len);
	asm_uint(&as, len, word_len);
	asm_uint(&as, 0, 2); /* no augmentation data; a nop, or the end of a sleb128 */
	asm_end(&as, fde);
	return table_of();
}

static void expect_encoded(uint64_t start, struct unwind_table *table)
{
	assert_int_equal(table->stats.nr_fdes, 1);
	expect(table, start - 1, KIND(GAP));
	expect(table, start, SP(8));
	expect(table, start + 63, SP(8));
	expect(table, start + 64, KIND(GAP));
	unwind_table_free(table);
}

static void expect_refused(struct unwind_table *table)
{
	assert_int_equal(table->stats.nr_fdes, 0);
	assert_int_equal(table->stats.nr_damaged, 1);
	assert_int_equal(table->nr_pages, 0);
	unwind_table_free(table);
}

static void test_encodings(void **state)
{
	/* where the FDE's address is: the CIE is 4+4+1+3+3+2+5, the FDE's header 8 */
	const uint64_t field = 0x400000 + 22 + 8;

	(void)state;
	expect_encoded(0x1234, encoded("zR", "\x00", 1, 0x1234, 64, 8));
	expect_encoded(0x1234, encoded("zR", "\x04", 1, 0x1234, 64, 8));
	expect_encoded(0x1234, encoded("zR", "\x0c", 1, 0x1234, 64, 8));
	expect_encoded(0x1234, encoded("zR", "\x03", 1, 0x1234, 64, 4));
	expect_encoded(0x1234, encoded("zR", "\x02", 1, 0x1234, 64, 2));
	expect_encoded(field - 0x100, encoded("zR", "\x1b", 1, (uint32_t)-0x100, 64, 4));
	expect_encoded(field - 0x100, encoded("zR", "\x1a", 1, (uint16_t)-0x100, 64, 2));
	expect_encoded(field - 0x100, encoded("zR", "\x1c", 1, (uint64_t)-0x100, 64, 8));
	expect_encoded(0x700 + 0x40, encoded("zR", "\x23", 1, 0x40, 64, 4)); /* textrel */
	expect_encoded(0x900 - 0x40, encoded("zR", "\x3b", 1, (uint32_t)-0x40, 64, 4));
	expect_encoded(0x55, encoded("zR", "\x01", 1, 0x55, 64, 1));	 /* uleb128 */
	expect_encoded(0x35, encoded("zR", "\x09", 1, 0x35, 0xc0, 1));	 /* sleb128: c0 00 */
	expect_refused(encoded("zR", "\x84", 1, 0x1234, 64, 8));	 /* indirect */
	expect_refused(encoded("zR", "\x44", 1, 0x1234, 64, 8));	 /* funcrel */
	expect_refused(encoded("zR", "\xff", 1, 0x1234, 64, 8));	 /* omit */
	expect_refused(encoded("zR", "\x05", 1, 0x1234, 64, 8));	 /* no such format */
	expect_refused(encoded("zR", "\x04", 1, UINT64_MAX - 3, 64, 8)); /* runs over the end */
}

static void test_augmentations(void **state)
{
	(void)state;
	expect_encoded(0x1234, encoded("zPLR", "\x9b\1\2\3\4\x1b\x04", 7, 0x1234, 64, 8));
	expect_encoded(0x1234, encoded("zRB", "\x04", 1, 0x1234, 64, 8));
	expect_encoded(0x1234, encoded("z", "more", 4, 0x1234, 64, 8));
	expect_refused(encoded("zXR", "\x04", 1, 0x1234, 64, 8));
	expect_refused(encoded("zR", "", 0, 0x1234, 64, 8)); /* its data is too short */
	expect_refused(encoded("zPR", "\x04\1\2", 3, 0x1234, 64, 8));
	expect_refused(encoded("R", "", 0, 0x1234, 64, 8));
}

static void test_versions(void **state)
{
	(void)state;
	for (uint8_t version = 1; version <= 5; version++) {
		struct unwind_table *table;
		bool known = version == 1 || version == 3 || version == 4;

		fresh();
		as.debug_frame = true;
		asm_fde(&as, asm_cie(&as, &(struct asm_cie){.version = version}), START, 64,
			NO_INSNS);
		table = table_of();
		expect(table, START, known ? SP(8) : KIND(GAP));
		unwind_table_free(table);
	}
}

/* .debug_frame and .eh_frame, with 32-bit and 64-bit lengths, two CIEs, FDEs before their CIE. */
static void test_forms(void **state)
{
	(void)state;
	for (unsigned form = 0; form < 4; form++) {
		struct unwind_table *table;
		size_t first, second;

		fresh();
		as.debug_frame = form & 1;
		as.wide = form & 2;
		first = asm_usual_cie(&as);
		asm_fde(&as, first, START, 16, NO_INSNS);
		asm_uint(&as, 0, 4); /* a terminator in the middle */
		second = asm_usual_cie(&as);
		asm_fde(&as, second, START + 16, 16, INSNS(0x0e, 16));
		asm_fde(&as, first, START + 32, 16, INSNS(0x0e, 24));
		asm_uint(&as, 0, 4);
		table = table_of();
		assert_int_equal(table->stats.nr_fdes, 3);
		assert_int_equal(table->stats.nr_cies, 2);
		assert_false(table->stats.truncated);
		expect(table, START + 15, SP(8));
		expect(table, START + 16, SP(16));
		expect(table, START + 47, SP(24));
		expect(table, START + 48, KIND(GAP));
		unwind_table_free(table);
	}
}

static void test_forward_cie(void **state)
{
	struct unwind_table *table;
	size_t cie;

	(void)state;
	fresh();
	as.debug_frame = true;
	asm_fde(&as, 4 + 4 + 16, START, 16, NO_INSNS);
	cie = asm_usual_cie(&as);
	assert_int_equal(cie, 24);
	table = table_of();
	expect(table, START, SP(8));
	unwind_table_free(table);
}

static void test_overlaps(void **state)
{
	struct unwind_table *table;
	size_t cie;

	(void)state;
	fresh();
	cie = asm_usual_cie(&as);
	asm_fde(&as, cie, START + 64, 16, INSNS(0x0e, 32));  /* unsorted */
	asm_fde(&as, cie, START, 256, NO_INSNS);	     /* around the one before */
	asm_fde(&as, cie, START + 64, 128, INSNS(0x0e, 48)); /* a double */
	asm_fde(&as, cie, START + 512, 0, INSNS(0x0e, 64));  /* empty */
	table = table_of();
	assert_int_equal(table->stats.nr_fdes, 2);
	assert_int_equal(table->stats.nr_skipped, 2);
	expect(table, START + 63, SP(8));
	expect(table, START + 64, SP(32));
	expect(table, START + 79, SP(32));
	expect(table, START + 80, KIND(GAP)); /* as a search by start would have it */
	expect(table, START + 512, KIND(GAP));
	unwind_table_free(table);
}

static void test_bounded_code(void **state)
{
	struct ehframe_input input;
	struct unwind_table *table;
	size_t cie;

	(void)state;
	fresh();
	cie = asm_usual_cie(&as);
	asm_fde(&as, cie, 0, 64, NO_INSNS); /* what a linker leaves of discarded code */
	asm_fde(&as, cie, START, 64, NO_INSNS);
	asm_fde(&as, cie, START + 0x2000, 64, NO_INSNS);
	input = input_of();
	input.code_start = START;
	input.code_limit = START + 32;
	assert_int_equal(unwind_table_new(&input, &table), 0);
	assert_int_equal(table->stats.nr_skipped, 2);
	assert_int_equal(table->nr_pages, 1);
	expect(table, START + 31, SP(8));
	expect(table, START + 32, KIND(GAP));
	unwind_table_free(table);
}

static void test_broken_chains(void **state)
{
	struct unwind_table *table;
	size_t cie, fde;

	(void)state;
	fresh();
	cie = asm_usual_cie(&as);
	fde = asm_fde(&as, cie, START, 16, NO_INSNS);
	asm_fde(&as, fde, START + 16, 16, NO_INSNS);	 /* its CIE is an FDE */
	asm_fde(&as, cie + 1, START + 32, 16, NO_INSNS); /* not an entry */
	asm_fde(&as, 1 << 20, START + 48, 16, NO_INSNS); /* outside */
	asm_uint(&as, 2, 4); /* too short for an id: not even known to be an FDE */
	asm_uint(&as, 0xabcd, 2);
	asm_fde(&as, cie, START + 64, 16, NO_INSNS);
	asm_uint(&as, 100, 4); /* leads out of the section */
	asm_uint(&as, 1, 4);
	table = table_of();
	assert_int_equal(table->stats.nr_fdes, 2);
	assert_int_equal(table->stats.nr_damaged, 3);
	assert_true(table->stats.truncated);
	expect(table, START + 15, SP(8));
	expect(table, START + 40, KIND(GAP));
	expect(table, START + 64, SP(8));
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

static void test_header(void **state)
{
	static const uint8_t good[] = {1, 0x1b, 3, 0x3b, 0x10, 0, 0, 0};
	struct cfi_section header = {.bytes = good, .len_bytes = sizeof(good), .elf_addr = 0x2000};
	uint64_t addr = 7;

	(void)state;
	assert_int_equal(cfi_header_read(&header, &addr), 0);
	assert_int_equal(addr, 0x2014);
	header.len_bytes = 7;
	addr = 7;
	assert_int_equal(cfi_header_read(&header, &addr), -EBADMSG);
	assert_int_equal(addr, 7);
	header = (struct cfi_section){.bytes = "\2\x1b\3\x3b\0\0\0\0", .len_bytes = 8};
	assert_int_equal(cfi_header_read(&header, &addr), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),	      cmocka_unit_test(test_advance),
		cmocka_unit_test(test_expressions),   cmocka_unit_test(test_registers),
		cmocka_unit_test(test_remember),      cmocka_unit_test(test_damaged_instructions),
		cmocka_unit_test(test_signal),	      cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_augmentations), cmocka_unit_test(test_versions),
		cmocka_unit_test(test_forms),	      cmocka_unit_test(test_forward_cie),
		cmocka_unit_test(test_overlaps),      cmocka_unit_test(test_bounded_code),
		cmocka_unit_test(test_broken_chains), cmocka_unit_test(test_return_column),
		cmocka_unit_test(test_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
