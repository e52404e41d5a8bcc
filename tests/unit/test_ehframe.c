/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reader on sections made by hand: encodings, augmentations, versions and lengths, and chains
 * of entries that are not what they should be. (test_ehframe_oracle has real files, and libdw.)
 */
#include <errno.h>

#include "unit/ehframe_case.h"

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

/* What holds there ends there, as everywhere else: no address lies behind it. */
static void test_code_up_to_the_last_address(void **state)
{
	struct unwind_table *table = encoded("zR", "\x04", 1, UINT64_MAX - 64, 64, 8);

	(void)state;
	assert_int_equal(table->stats.nr_fdes, 1);
	expect(table, UINT64_MAX - 65, KIND(GAP));
	expect(table, UINT64_MAX - 64, SP(8));
	expect(table, UINT64_MAX - 1, SP(8));
	expect(table, UINT64_MAX, KIND(GAP));
	unwind_table_free(table);
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

/* .debug_frame and .eh_frame, with 32-bit and 64-bit lengths, two CIEs, a terminator between. */
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
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_code_up_to_the_last_address),
		cmocka_unit_test(test_augmentations),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_forward_cie),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_bounded_code),
		cmocka_unit_test(test_broken_chains),
		cmocka_unit_test(test_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
