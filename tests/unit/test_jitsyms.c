// SPDX-License-Identifier: BSD-2-Clause
/* Names of JIT code by address and time, with inlined frames, within bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "process/jitsyms.h"

static const char *name_at(struct jitsyms *code, uint64_t ip, uint64_t time_ns)
{
	return jitsyms_frame(code, jitsyms_find(code, ip, time_ns), 0).name;
}

static void add(struct jitsyms *code, uint64_t start, uint64_t limit, uint64_t since_ns,
		const char *name)
{
	const struct jitframe frame = {.name = name, .file = ""};

	jitsyms_add(code, start, limit, since_ns, &frame);
}

static void test_empty(void **state)
{
	struct jitsyms code = {0};

	(void)state;
	assert_null(jitsyms_find(&code, 0x1000, 5));
	jitsyms_release(&code);
}

static void test_bounds(void **state)
{
	struct jitsyms code = {0};

	(void)state;
	add(&code, 0x2000, 0x2100, 10, "two");
	add(&code, 0x1000, 0x1100, 10, "one");
	assert_null(jitsyms_find(&code, 0xfff, 20));
	assert_string_equal(name_at(&code, 0x1000, 20), "one");
	assert_string_equal(name_at(&code, 0x10ff, 20), "one");
	assert_null(jitsyms_find(&code, 0x1100, 20));
	assert_string_equal(name_at(&code, 0x2001, 20), "two");
	add(&code, 0x1100, 0x1101, 10, "between");
	assert_string_equal(name_at(&code, 0x1100, 20), "between");
	jitsyms_release(&code);
}

/* The same place, for one method, then for a larger one, then for the first again. */
static void test_times(void **state)
{
	struct jitsyms code = {0};

	(void)state;
	add(&code, 0x1000, 0x1100, 10, "first");
	add(&code, 0x0f00, 0x1200, 20, "second");
	add(&code, 0x1000, 0x1100, 30, "third");
	assert_string_equal(name_at(&code, 0x1010, 5), "first"); /* met a little late */
	assert_string_equal(name_at(&code, 0x1010, 10), "first");
	assert_string_equal(name_at(&code, 0x1010, 20), "second");
	assert_string_equal(name_at(&code, 0x1010, 29), "second");
	assert_string_equal(name_at(&code, 0x1010, 31), "third");
	assert_string_equal(name_at(&code, 0x1150, 31), "second");
	jitsyms_release(&code);
}

static void test_frames(void **state)
{
	const struct jitframe frames[] = {{"inner", "a.java", 12, 10}, {"outer", "b.java", 0, 0}};
	struct jitsyms code = {0};
	struct jitframe frame;
	struct jitsym *piece;

	(void)state;
	add(&code, 0x2000, 0x2100, 10, "other");
	jitsyms_add_frames(&code, 0x1000, 0x1100, 10, frames, 2);
	piece = jitsyms_find(&code, 0x1010, 10);
	assert_int_equal(piece->nr_frames, 2);
	frame = jitsyms_frame(&code, piece, 0);
	assert_string_equal(frame.name, "inner");
	assert_string_equal(frame.file, "a.java");
	assert_int_equal(frame.line, 12);
	assert_int_equal(frame.start_line, 10);
	assert_string_equal(jitsyms_frame(&code, piece, 1).name, "outer");
	assert_string_equal(jitsyms_frame(&code, jitsyms_find(&code, 0x2000, 10), 0).file, "");
	jitsyms_release(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
