// SPDX-License-Identifier: BSD-2-Clause
/* Which code was at an address of the kernel at a time: what came, what went, and what took its place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/clock.h"
#include "record/kernelcode.h"

#define AT 0xffffffffc0001000ull
#define S  NSEC_PER_SEC

static void say(struct kernelcode *code, enum task_event_kind kind, uint64_t start, uint64_t len,
		const char *name, uint64_t time_ns)
{
	const struct task_event event = {
		.kind = kind, .time_ns = time_ns, .code = {start, start + len, name}};

	kernelcode_event(code, &event);
}

static void expect(struct kernelcode *code, uint64_t ip, uint64_t time_ns, const char *name)
{
	const char *found = "";

	assert_int_equal(kernelcode_find(code, ip, time_ns, &found), KERNELCODE_KNOWN);
	assert_string_equal(found, name);
}

static void expect_none(struct kernelcode *code, uint64_t ip, uint64_t time_ns,
			enum kernelcode_known known)
{
	const char *found = "";

	assert_int_equal(kernelcode_find(code, ip, time_ns, &found), known);
	assert_string_equal(found, "");
}

static void test_it_comes_and_goes(void **state)
{
	struct kernelcode code = {0};

	(void)state;
	expect_none(&code, AT, 5 * S, KERNELCODE_UNKNOWN);
	say(&code, KERNEL_CODE_CAME, AT, 0x40, "first", 10 * S);
	say(&code, KERNEL_CODE_CAME, AT + 0x100, 0x40, "neighbour", 10 * S);
	expect(&code, AT, 10 * S, "first");
	expect(&code, AT + 0x3f, 20 * S, "first");
	expect(&code, AT + 0x13f, 20 * S, "neighbour");
	expect_none(&code, AT + 0x40, 20 * S, KERNELCODE_UNKNOWN);
	expect_none(&code, AT - 1, 20 * S, KERNELCODE_UNKNOWN);
	expect_none(&code, AT, 9 * S, KERNELCODE_NOT_YET);
	say(&code, KERNEL_CODE_WENT, AT, 0x40, "first", 30 * S);
	expect(&code, AT, 29 * S, "first");
	expect(&code, AT, 30 * S + S / 2, "first"); /* another CPU runs it still */
	expect_none(&code, AT, 32 * S, KERNELCODE_UNKNOWN);
	kernelcode_release(&code);
}

/* What was there before the run is announced when it goes. */
static void test_it_goes(void **state)
{
	struct kernelcode code = {0};

	(void)state;
	say(&code, KERNEL_CODE_WENT, AT, 0x40, "old", 30 * S);
	expect(&code, AT + 1, 1, "old");
	expect_none(&code, AT, 40 * S, KERNELCODE_UNKNOWN);
	kernelcode_release(&code);
}

/* At the same place, and at one that overlaps; also where nobody heard that the one before went. */
static void test_another_takes_its_place(void **state)
{
	struct kernelcode code = {0};

	(void)state;
	say(&code, KERNEL_CODE_WENT, AT, 0x40, "old", 10 * S);
	say(&code, KERNEL_CODE_CAME, AT, 0x40, "first", 10 * S + 5);
	expect(&code, AT, 10 * S + 4, "old");
	expect(&code, AT, 10 * S + 5, "first");
	say(&code, KERNEL_CODE_WENT, AT, 0x40, "first", 20 * S);
	say(&code, KERNEL_CODE_CAME, AT - 0x20, 0x80, "second", 25 * S);
	expect(&code, AT, 19 * S, "first");
	expect(&code, AT, 25 * S, "second");
	expect_none(&code, AT - 0x20, 20 * S, KERNELCODE_NOT_YET);
	/* at once, although the one that went would have some time yet */
	say(&code, KERNEL_CODE_CAME, AT + 0x200, 0x40, "inner", 26 * S);
	say(&code, KERNEL_CODE_WENT, AT + 0x200, 0x40, "inner", 27 * S);
	say(&code, KERNEL_CODE_CAME, AT + 0x100, 0x200, "outer", 27 * S + 5);
	expect(&code, AT + 0x210, 27 * S, "inner");
	expect(&code, AT + 0x210, 27 * S + 6, "outer");
	say(&code, KERNEL_CODE_CAME, AT - 0x20, 0x80, "third", 40 * S);
	expect(&code, AT - 0x20, 39 * S, "second");
	expect(&code, AT - 0x20, 90 * S, "third");
	kernelcode_release(&code);
}

/* More than anybody keeps: the first stay known. */
static void test_too_many(void **state)
{
	struct kernelcode code = {0};

	(void)state;
	for (uint64_t i = 0; i < KERNELCODE_MAX + 10; i++)
		say(&code, KERNEL_CODE_CAME, AT + i * 0x40, 0x40, "one", S + i);
	assert_int_equal(code.pieces.nr, KERNELCODE_MAX);
	expect(&code, AT, 2 * S, "one");
	say(&code, KERNEL_CODE_WENT, AT, 0x40, "one", 3 * S);
	expect_none(&code, AT, 5 * S, KERNELCODE_UNKNOWN);
	expect_none(&code, AT + (KERNELCODE_MAX + 5ull) * 0x40, 5 * S, KERNELCODE_UNKNOWN);
	kernelcode_release(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_comes_and_goes),
		cmocka_unit_test(test_it_goes),
		cmocka_unit_test(test_another_takes_its_place),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
