// SPDX-License-Identifier: BSD-2-Clause
/* Replies about JVMs: a good one of each kind, and each of the ways in which it may be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "object/arch.h"
#include "unwind/unwindarch.h"
#include "sandbox/jvmreply.h"
#include "sandbox/reply.h"

#define HEAP 0x7f0000008000ull

/* Looks ------------------------------------------------------------------------------------------ */

struct table {
	struct message_table about;
	uint32_t pages[2], rows[1];
	struct unwind_rule extended[UNWIND_NR_FIXED_EXTENDED];
} __attribute__((packed));

struct look {
	struct message_look about;
	struct message_heap heaps[2];
	struct table table;
} __attribute__((packed));

/* Two heaps, the first of them with a table of one page that says nothing. */
static struct look good_look(void)
{
	return (struct look){
		.about = {.missing = "", .nr_blobs = 3, .is_changed = 1, .unloads_at = HEAP},
		.heaps = {{HEAP, HEAP + 0x1000, HEAP + 0x4000, 7, 1, sizeof(struct table)},
			  {HEAP + 0x4000, HEAP + 0x5000, HEAP + 0x5000, 8, 0, 0}},
		.table = {.about = {.e_machine = unwind_arch_here()->e_machine,
				    .start = HEAP,
				    .nr_pages = 1,
				    .nr_rows = 1,
				    .nr_extended = UNWIND_NR_FIXED_EXTENDED},
			  .pages = {0, 1},
			  .rows = {UNWIND_RULE_EXTENDED | UNWIND_EXTENDED_GAP},
			  .extended = {{.kind = UNWIND_GAP},
				       {.kind = UNWIND_ROOT},
				       {.kind = UNWIND_UNSUPPORTED},
				       {.kind = UNWIND_FP}}},
	};
}

static void test_look(void **state)
{
	struct look good = good_look();
	struct reply_look look;

	(void)state;
	assert_int_equal(reply_read_look(&good, sizeof(good), 2, &look), 0);
	assert_int_equal(look.nr_heaps, 2);
	assert_int_equal(look.nr_blobs, 3);
	assert_true(look.is_changed && !look.is_partial);
	assert_true(look.heaps[0].start == HEAP && look.heaps[0].limit == HEAP + 0x1000);
	assert_int_equal(look.heaps[0].generation, 7);
	assert_non_null(look.heaps[0].table);
	assert_null(look.heaps[1].table);
	reply_look_release(&look);
	assert_int_equal(look.nr_heaps, 0);
}

static void make_bad_look(struct look *look, int which)
{
	switch (which) {
	case 0:
		memset(look->about.missing, 'x', sizeof(look->about.missing));
		break;
	case 1:
		strcpy(look->about.missing, "\033[2J");
		break;
	case 2:
		strcpy(look->about.missing, "x"); /* and heaps */
		break;
	case 3:
		look->about.is_partial = 2;
		break;
	case 4:
		look->about.is_changed = 2;
		break;
	case 5:
		look->heaps[0].start += 0x2000; /* beyond its limit */
		break;
	case 6:
		look->heaps[0].limit = HEAP + 0x5000; /* beyond what is reserved */
		break;
	case 7:
		look->heaps[0].limit++;
		break;
	case 8:
		look->heaps[1].start -= 0x1000; /* in the first */
		break;
	case 9:
		look->heaps[1].limit = look->heaps[1].reserved = 2 * ARCH_USER_LIMIT;
		break;
	case 10:
		look->heaps[0].has_table = 2;
		break;
	case 11:
		look->heaps[0].has_table = 0; /* and its bytes */
		break;
	case 12:
		look->heaps[0].table_bytes = UINT64_MAX;
		break;
	case 13:
		look->heaps[0].table_bytes--;
		break;
	case 14:
		look->heaps[0].generation = 0;
		break;
	case 15:
		look->heaps[1].table_bytes = 1;
		break;
	case 16:
		look->table.pages[1] = 2;
		break;
	case 17:
		look->table.rows[0] = UNWIND_RULE_EXTENDED | UNWIND_NR_FIXED_EXTENDED;
		break;
	case 18:
		look->table.about.e_machine ^= 62 ^ 183; /* the other machine's */
		break;
	}
}

static void test_bad_looks(void **state)
{
	struct look good = good_look();
	struct reply_look look = {.nr_blobs = 99};

	(void)state;
	for (int which = 0; which < 19; which++) {
		struct look bad = good_look();

		make_bad_look(&bad, which);
		assert_int_equal(reply_read_look(&bad, sizeof(bad), 2, &look), -EBADMSG);
	}
	for (size_t len = 0; len < sizeof(good); len++)
		assert_int_equal(reply_read_look(&good, len, 2, &look), -EBADMSG);
	assert_int_equal(reply_read_look(&good, sizeof(good), 1, &look), -EBADMSG);
	assert_int_equal(reply_read_look(&good, sizeof(good), MESSAGE_MAX_HEAPS + 1, &look),
			 -EBADMSG);
	assert_int_equal(look.nr_blobs, 99);
}

/* Code ------------------------------------------------------------------------------------------- */

struct code {
	struct message_code about;
	struct message_row rows[3];
};

static struct code good_code(void)
{
	const struct unwind_rule sp = {.kind = UNWIND_FRAME,
				       .cfa_reg = X86_REG_SP,
				       .how = unwind_how_pack(UNWIND_SAME, UNWIND_AT_CFA),
				       .cfa_off = 8,
				       .ra_off = -8};
	struct code code = {.about = {HEAP, HEAP + 100},
			    .rows = {{0}, {.offset = 10}, {.offset = 99}}};

	memcpy(code.rows[0].rule, &sp, sizeof(sp));
	code.rows[1].rule[0] = UNWIND_UNKNOWN;
	code.rows[2].rule[0] = UNWIND_FP;
	return code;
}

static void expect_kind(const struct reply_code *code, uint64_t ip, int kind)
{
	struct unwind_rule rule;

	reply_code_find(code, ip, &rule);
	assert_int_equal(rule.kind, kind);
}

static void test_code(void **state)
{
	struct code good = good_code();
	struct reply_code *code;

	(void)state;
	assert_int_equal(reply_read_code(&good, sizeof(good), 3, &code), 0);
	assert_int_equal(code->nr_rows, 3);
	expect_kind(code, HEAP, UNWIND_FRAME);
	expect_kind(code, HEAP + 9, UNWIND_FRAME);
	expect_kind(code, HEAP + 10, UNWIND_UNKNOWN);
	expect_kind(code, HEAP + 98, UNWIND_UNKNOWN);
	expect_kind(code, HEAP + 99, UNWIND_FP);
	free(code);
}

static void make_bad_code(struct code *code, int which)
{
	switch (which) {
	case 0:
		code->about.limit = code->about.start;
		break;
	case 1:
		code->about.limit = UINT64_MAX;
		break;
	case 2:
		code->rows[0].offset = 1;
		break;
	case 3:
		code->rows[2].offset = 10;
		break;
	case 4:
		code->rows[2].offset = 100;
		break;
	case 5:
		code->rows[1].zero = 1;
		break;
	case 6:
		code->rows[1].rule[0] = UNWIND_NR_KINDS;
		break;
	case 7:
		code->rows[0].rule[1] = UNWIND_NR_REGS;
		break;
	}
}

static void test_bad_code(void **state)
{
	struct code good = good_code();
	struct reply_code *code = NULL;

	(void)state;
	for (int which = 0; which < 8; which++) {
		struct code bad = good_code();

		make_bad_code(&bad, which);
		assert_int_equal(reply_read_code(&bad, sizeof(bad), 3, &code), -EBADMSG);
	}
	for (size_t len = 0; len < sizeof(good); len++)
		assert_int_equal(reply_read_code(&good, len, 3, &code), -EBADMSG);
	assert_int_equal(reply_read_code(&good, sizeof(good), 2, &code), -EBADMSG);
	assert_int_equal(reply_read_code(&good, sizeof(good.about), 0, &code), -EBADMSG);
	assert_int_equal(reply_read_code(&good, sizeof(good), MESSAGE_MAX_ROWS + 1, &code),
			 -EBADMSG);
	assert_null(code);
}

/* Names ------------------------------------------------------------------------------------------ */

struct methods {
	struct message_method heads[2];
	struct message_method_frame frames[3];
	char texts[11]; /* "one", "file", "two", "", "x", "" */
} __attribute__((packed));

static struct methods good_methods(void)
{
	return (struct methods){.heads = {{HEAP, HEAP + 10, 2, 0}, {HEAP + 10, HEAP + 11, 1, 0}},
				.frames = {{3, 4, 12, 10}, {3, 0, 0, 0}, {1, 0, 7, 0}},
				.texts = {'o', 'n', 'e', 'f', 'i', 'l', 'e', 't', 'w', 'o', 'x'}};
}

static void test_methods(void **state)
{
	struct methods good = good_methods();
	struct reply_method *methods;

	(void)state;
	assert_int_equal(reply_read_methods(&good, sizeof(good), 2, &methods), 0);
	assert_int_equal(methods[0].nr_frames, 2);
	assert_string_equal(methods[0].frames[0].name, "one");
	assert_string_equal(methods[0].frames[0].file, "file");
	assert_int_equal(methods[0].frames[0].line, 12);
	assert_int_equal(methods[0].frames[0].start_line, 10);
	assert_string_equal(methods[0].frames[1].name, "two");
	assert_string_equal(methods[0].frames[1].file, "");
	assert_string_equal(methods[1].frames[0].name, "x");
	assert_true(methods[1].start == HEAP + 10 && methods[1].limit == HEAP + 11);
	free(methods);
	assert_int_equal(reply_read_methods(NULL, 0, 0, &methods), 0);
	assert_null(methods);
}

static void make_bad_methods(struct methods *methods, int which)
{
	switch (which) {
	case 0:
		methods->heads[0].limit = HEAP;
		break;
	case 1:
		methods->heads[0].limit = UINT64_MAX;
		break;
	case 2:
		methods->heads[0].zero = 1;
		break;
	case 3:
		methods->frames[0].name_bytes = 0;
		methods->frames[1].name_bytes = 6;
		break;
	case 4:
		methods->frames[0].name_bytes = UINT32_MAX;
		break;
	case 5:
		methods->frames[1].name_bytes = 2;
		break;
	case 6:
		methods->texts[1] = '\0';
		break;
	case 7:
		methods->heads[0].nr_frames = 0;
		break;
	case 8:
		methods->heads[0].nr_frames = MESSAGE_MAX_FRAMES + 1;
		break;
	case 9:
		methods->frames[0].file_bytes = MESSAGE_METHOD_BYTES;
		break;
	}
}

static void test_bad_methods(void **state)
{
	struct methods good = good_methods();
	struct reply_method *methods = NULL;
	char *many scoped(freep) = xcalloc(1, 1 << 20);

	(void)state;
	for (int which = 0; which < 10; which++) {
		struct methods bad = good_methods();

		make_bad_methods(&bad, which);
		assert_int_equal(reply_read_methods(&bad, sizeof(bad), 2, &methods), -EBADMSG);
	}
	for (size_t len = 0; len < sizeof(good); len++)
		assert_int_equal(reply_read_methods(&good, len, 2, &methods), -EBADMSG);
	assert_int_equal(reply_read_methods(many, 1 << 20, MESSAGE_MAX_NAMES + 1, &methods),
			 -EBADMSG);
	assert_int_equal(reply_read_methods(many, 1, 0, &methods), -EBADMSG);
	assert_null(methods);
}

/* Headers ---------------------------------------------------------------------------------------- */

static bool fits(uint32_t kind, uint32_t asked, uint32_t nr, uint64_t len_bytes)
{
	const struct message request = {.kind = kind, .nr = asked};
	const struct message reply = {.kind = kind, .nr = nr, .len_bytes = len_bytes};

	return reply_fits(&request, &reply);
}

static void test_headers(void **state)
{
	const uint64_t row = sizeof(struct message_row), code = sizeof(struct message_code);

	(void)state;
	assert_true(fits(MESSAGE_VARIABLES, 0, MESSAGE_NR_VARIABLES, MESSAGE_NR_VARIABLES * 8));
	assert_false(fits(MESSAGE_VARIABLES, 0, MESSAGE_NR_VARIABLES + 1,
			  (MESSAGE_NR_VARIABLES + 1) * 8));
	assert_false(
		fits(MESSAGE_VARIABLES, 0, MESSAGE_NR_VARIABLES, MESSAGE_NR_VARIABLES * 8 + 1));
	assert_true(fits(MESSAGE_LOOK, 0, MESSAGE_MAX_HEAPS, MESSAGE_LOOK_BYTES));
	assert_false(fits(MESSAGE_LOOK, 0, MESSAGE_MAX_HEAPS + 1, MESSAGE_LOOK_BYTES));
	assert_false(fits(MESSAGE_LOOK, 0, 1, MESSAGE_LOOK_BYTES + 1));
	assert_true(fits(MESSAGE_CODE, 1, 2, code + 2 * row));
	assert_false(fits(MESSAGE_CODE, 1, 0, code));
	assert_false(fits(MESSAGE_CODE, 1, 2, code + row));
	assert_false(
		fits(MESSAGE_CODE, 1, MESSAGE_MAX_ROWS + 1, code + (MESSAGE_MAX_ROWS + 1) * row));
	assert_true(fits(MESSAGE_METHODS, 2, 0, 0));
	assert_true(fits(MESSAGE_METHODS, 2, 2, 100));
	assert_false(fits(MESSAGE_METHODS, 2, 3, 100));
	assert_false(fits(MESSAGE_METHODS, 2, 2, MESSAGE_NAMES_BYTES + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_look),	cmocka_unit_test(test_bad_looks),
		cmocka_unit_test(test_code),	cmocka_unit_test(test_bad_code),
		cmocka_unit_test(test_methods), cmocka_unit_test(test_bad_methods),
		cmocka_unit_test(test_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
