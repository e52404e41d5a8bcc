// SPDX-License-Identifier: BSD-2-Clause
/* unwind/a64jit: code as HotSpot makes it on arm64, word by word: the rule before each instruction. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "object/a64.h"
#include "unwind/a64jit.h"

#define ADDR 0x10000u

/* A word, and the rule that must be in force before it, as rule_text() writes it. NULL: the same as before. */
struct line {
	uint32_t word;
	const char *rule;
};

struct rows {
	struct unwind_row *at;
	size_t nr, cap;
};

static void take(void *ctx, const struct unwind_row *row)
{
	vec_push((struct rows *)ctx, *row);
}

static char *rule_text(const struct unwind_rule *rule)
{
	static const char *const hows[] = {"same", "cfa", "sp", "fp", "reg", "is", "lost"};

	if (rule->kind == UNWIND_GAP)
		return xstrdup("gap");
	return xasprintf("%sx%u%+d%s fp %s%+d ra %s%+d", rule->kind == UNWIND_DEREF ? "*(" : "",
			 rule->cfa_reg, rule->cfa_off, rule->kind == UNWIND_DEREF ? ")" : "",
			 hows[unwind_fp_how(rule)], rule->fp_off, hows[unwind_ra_how(rule)],
			 rule->ra_off);
}

static void check(enum stackflow_kind kind, uint32_t frame_bytes, bool by_sender,
		  const struct line *lines, size_t nr)
{
	uint8_t *bytes scoped(freep) = xmalloc(nr * A64_BYTES);
	struct stackflow_entry entry = {0, by_sender};
	struct stackflow_code code = {.bytes = bytes,
				      .len_bytes = nr * A64_BYTES,
				      .addr = ADDR,
				      .kind = kind,
				      .frame_bytes = frame_bytes,
				      .entries = &entry,
				      .nr_entries = 1};
	const char *expected = "";
	struct rows rows = {0};
	size_t k = 0;

	for (size_t i = 0; i < nr; i++)
		memcpy(bytes + i * A64_BYTES, &lines[i].word, A64_BYTES);
	a64jit_rows(&code, take, &rows);
	for (size_t i = 0; i < nr; i++) {
		char *text scoped(freep) = NULL;

		while (k + 1 < rows.nr && rows.at[k + 1].elf_addr <= ADDR + i * A64_BYTES)
			k++;
		text = rule_text(&rows.at[k].rule);
		expected = lines[i].rule ? lines[i].rule : expected;
		if (strcmp(text, expected) != 0)
			fail_msg("word %zu (%08x): %s, not %s", i, lines[i].word, text, expected);
	}
	vec_release(&rows);
}

#define CHECK(kind, frame_bytes, by_sender, lines) \
	check(kind, frame_bytes, by_sender, lines, sizeof(lines) / sizeof(lines[0]))

#define ENTRY "x31+0 fp same+0 ra reg+30"
#define BODY  "x31+64 fp cfa-16 ra cfa-8"

static void test_compiled(void **state)
{
	static const struct line lines[] = {
		{0xd503201f, ENTRY},			    /* nop */
		{0xd14053e9, NULL},			    /* sub x9, sp, #0x14, lsl #12 */
		{0xf900013f, NULL},			    /* str xzr, [x9] */
		{0xd10103ff, NULL},			    /* sub sp, sp, #64 */
		{0xa9037bfd, "x31+64 fp same+0 ra reg+30"}, /* stp x29, x30, [sp, #48] */
		{0x94001000, BODY},			    /* bl outside */
		{0xaa0003fd, NULL},			    /* mov x29, x0: a register as others */
		{0xa9437bfd, NULL},			    /* ldp x29, x30, [sp, #48] */
		{0x910103ff, "x31+64 fp same+0 ra reg+30"}, /* add sp, sp, #64 */
		{0xf941c388, ENTRY},			    /* ldr x8, [x28, #896] */
		{0xeb2863ff, NULL},			    /* cmp sp, x8 */
		{0x54000048, NULL},			    /* b.hi to the one behind the next */
		{0xd65f03c0, NULL},			    /* ret */
		{0x10ffffe8, NULL},			    /* adr x8: the poll's slow path */
		{0x14001000, NULL},			    /* b outside */
		{0xaa0003f3, BODY},			    /* a handler, to which nothing leads */
		{0x14001000, NULL},
	};

	(void)state;
	CHECK(STACKFLOW_COMPILED, 64, false, lines);
}

static void test_stub(void **state)
{
	static const struct line lines[] = {
		{0xa9bf7bfd, ENTRY},			   /* stp x29, x30, [sp, #-16]! */
		{0x910003fd, "x31+16 fp cfa-16 ra cfa-8"}, /* mov x29, sp */
		{0xd10143bf, NULL},			   /* sub sp, x29, #80 */
		{0xcb2c63ff, "x31+96 fp cfa-16 ra cfa-8"}, /* sub sp, sp, x12 */
		{0xd63f0100, "x29+16 fp cfa-16 ra cfa-8"}, /* blr x8 */
		{0x910003bf, NULL},			   /* mov sp, x29 */
		{0xa8c17bfd, "x31+16 fp cfa-16 ra cfa-8"}, /* ldp x29, x30, [sp], #16 */
		{0xd65f03c0, ENTRY},			   /* ret */
	};
	/* From interpreted to compiled code: the caller is found by its x29. */
	static const struct line adapter[] = {
		{0x927cee9f, ENTRY}, /* and sp, x20, #-16 */
		{0xd10043ff, NULL},  /* sub sp, sp, #16 */
		{0xf9402588, "x31+16 fp same+0 ra reg+30"},
		{0xd61f0100, NULL}, /* br x8 */
	};

	(void)state;
	CHECK(STACKFLOW_STUB, 0, false, lines);
	CHECK(STACKFLOW_STUB, 0, false, adapter);
}

#define SENDER(reg) "x" #reg "+0 fp same+0 ra reg+30"
#define MAKING(reg) "x" #reg "+0 fp fp+0 ra fp+8"
#define INTERPRETED "*(x29-8) fp fp+0 ra fp+8"

/* Of Java 17, behind padding; and its end, where the frame is left. */
static void test_interpreter(void **state)
{
	static const struct line lines[] = {
		{0, INTERPRETED}, /* padding: nobody is there */
		{0, NULL},
		{0xf9400583, SENDER(13)},  /* ldr x3, [x12, #8] */
		{0x927ced1f, NULL},	   /* and sp, x8, #-16 */
		{0xa9ba5bf4, NULL},	   /* stp x20, x22, [sp, #-96]! */
		{0xa9057bfd, NULL},	   /* stp x29, x30, [sp, #80] */
		{0x910143fd, NULL},	   /* add x29, sp, #80 */
		{0xa90437ff, MAKING(13)},  /* stp xzr, x13, [sp, #64] */
		{0xd63f0100, INTERPRETED}, /* blr x8 */
		{0xf85f83a9, NULL},	   /* ldur x9, [x29, #-8] */
		{0xaa0903f4, NULL},	   /* mov x20, x9 */
		{0x910003bf, NULL},	   /* mov sp, x29 */
		{0xa8c17bfd, NULL},	   /* ldp x29, x30, [sp], #16 */
		{0x927cee9f, SENDER(20)},  /* and sp, x20, #-16 */
		{0xd65f03c0, NULL},
		{0xd63f0100, INTERPRETED}, /* another codelet */
	};
	/* Of Java 20 and later: between are other instructions. */
	static const struct line newer[] = {
		{0xf9400583, SENDER(19)},  {0xa9057bfd, NULL}, {0x910143fd, NULL},
		{0xf9400588, MAKING(19)},  {0xa9044fff, NULL}, /* stp xzr, x19, [sp, #64] */
		{0xd63f0100, INTERPRETED},
	};

	(void)state;
	CHECK(STACKFLOW_INTERPRETER, 0, true, lines);
	CHECK(STACKFLOW_INTERPRETER, 0, true, newer);
}

static void test_limits(void **state)
{
	static const uint8_t few[] = {1, 2, 3};
	struct stackflow_code code = {.bytes = few, .len_bytes = sizeof(few), .addr = ADDR};
	struct rows rows = {0};

	(void)state;
	a64jit_rows(&code, take, &rows);
	assert_int_equal(rows.nr, 1);
	assert_int_equal(rows.at[0].rule.kind, UNWIND_GAP);
	vec_release(&rows);
}

static uint64_t method_after(uint64_t addr, bool is_arm64)
{
	uint64_t kept = addr & (UNWIND_METHOD_LIMIT - 1);

	return unwind_method_addr(UNWIND_METHOD_MARK | kept >> 3 << UNWIND_METHOD_SHIFT, is_arm64);
}

/* The highest bit of a Method's address is not kept. */
static void test_methods(void **state)
{
	(void)state;
	assert_true(method_after(0xffff80001238, true) == 0xffff80001238);
	assert_true(method_after(0xaaaa80001238, true) == 0xaaaa80001238);
	assert_true(method_after(0x800001238, true) == 0x800001238);
	assert_true(method_after(0x7fff80001238, false) == 0x7fff80001238);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compiled),    cmocka_unit_test(test_stub),
		cmocka_unit_test(test_interpreter), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_methods),
	};

	return cmocka_run_group_tests_name("a64jit", tests, NULL, NULL);
}
