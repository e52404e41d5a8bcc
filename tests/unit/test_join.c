// SPDX-License-Identifier: BSD-2-Clause
/* record/join: which interpreted functions stand beside which native frame. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "record/join.h"

/*
 * natives: leaf first, a letter each: 'L' is a loop, '.' those left out. frames: 'e' is entered from native code, 'f'
 * is not, '.' those left out, of which nr_entries are. Expected: natives as they are, frames as digits in their order.
 */
struct example {
	const char *natives, *frames, *expected;
	bool is_cut, is_paired, may_lack_loop;
	enum shadow_end end;
	uint32_t nr_entries;
};

static void put(const struct example *example, const struct join_item *item, char *to)
{
	switch (item->kind) {
	case JOIN_NATIVE:
		*to = example->natives[item->i];
		break;
	case JOIN_SHADOW:
		*to = (char)('0' + item->i % 10);
		break;
	case JOIN_ELIDED:
		*to = ':';
		break;
	default:
		*to = '|';
	}
}

static void check(const struct example *example)
{
	uint32_t nr = (uint32_t)strlen(example->natives), nr_frames = 0;
	struct shadow_frame frames[SHADOW_MAX_FRAMES] = {{0}};
	struct shadow_stack shadow = {
		.frames = frames, .end = example->end, .nr_elided_entries = example->nr_entries};
	struct join_items items = {0};
	struct join_native native = {.nr = nr,
				     .elided = nr,
				     .is_whole = !example->is_cut,
				     .may_lack_loop = example->may_lack_loop};
	bool is_loop[64] = {false};
	char text[1024] = "";

	for (uint32_t i = 0; i < nr; i++) {
		is_loop[i] = example->natives[i] == 'L';
		if (example->natives[i] == '.')
			native.elided = i;
	}
	native.is_loop = is_loop;
	for (const char *frame = example->frames; *frame; frame++)
		frames[nr_frames++].entries = *frame == 'e' ? 1 : *frame == 'E' ? 2 : 0;
	shadow.nr = nr_frames;
	assert_int_equal(join_stacks(&native, &shadow, &items), example->is_paired);
	for (size_t i = 0; i < items.nr; i++)
		put(example, &items.at[i], &text[i]);
	assert_string_equal(text, example->expected);
	vec_release(&items);
}

static void test_pairs(void **state)
{
	static const struct example examples[] = {
		/* one loop a function, and one for several */
		{"aLbLc", "ee", "a0Lb1Lc", .is_paired = true},
		{"aLbLc", "ffefe", "a012Lb34Lc", .is_paired = true},
		{"La", "e", "0La", .is_paired = true},
		/* the loop is entered, its function is not there */
		{"aLbLc", "fe", "aLb01Lc", .is_paired = true},
		{"La", "", "La", .is_paired = true},
		/* the function that a loop was called for has ended, and what it held runs code */
		{"aLbLcLd", "Ee", "a0LbLc1Ld", .is_paired = true},
		{"aLbLcLd", "fEfe", "a01LbLc23Ld", .is_paired = true},
		/* the function is there, its loop is not entered */
		{"aLb", "ee", "0a1Lb", .is_paired = true, .may_lack_loop = true},
		{"aLb", "ffefe", "012a34Lb", .is_paired = true, .may_lack_loop = true},
		{"aLb", "eee", "012|aLb", .is_paired = false, .may_lack_loop = true},
		/* they do not go together */
		{"abc", "e", "0|abc", .is_paired = false},
		{"LLLa", "e", "0|LLLa", .is_paired = false},
		{"aLb", "ee", "01|aLb", .is_paired = false},
		{"aLb", "e", "0|aLb", .is_paired = false, .end = SHADOW_END_UNREADABLE},
		/* there are no functions, and why */
		{"abLc", "", "ab|Lc", .is_paired = false, .end = SHADOW_END_UNREADABLE},
		{"ab", "", "ab|", .is_paired = false, .end = SHADOW_END_UNREADABLE},
		/* what native code there is of a stack that ends early */
		{"aLb", "eefe", "a0Lb123", .is_cut = true, .is_paired = true},
		/* left out on the native side: each side from its own end */
		{"aLbL.cLd", "eeeee", "a0Lb1L.c234Ld", .is_paired = true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		check(&examples[i]);
}

/* Left out of the shadow stack: the functions on either side stand beside their own loops. */
static void test_elided(void **state)
{
	struct shadow_frame frames[SHADOW_MAX_FRAMES] = {{0}};
	struct shadow_stack shadow = {.frames = frames,
				      .nr = SHADOW_MAX_FRAMES,
				      .nr_elided = 100,
				      .nr_elided_entries = 2};
	static const bool is_loop[] = {true, true, true, true, false};
	const struct join_native native = {
		.is_loop = is_loop, .nr = 5, .elided = 5, .is_whole = true};
	struct join_items items = {0};
	size_t at = 0, loops[4], nr_loops = 0, elided = 0;

	(void)state;
	frames[9].entries = 1;			   /* the run at the leaf: 0 to 9 */
	frames[SHADOW_MAX_FRAMES - 1].entries = 1; /* the run at the root */
	assert_true(join_stacks(&native, &shadow, &items));
	vec_for_each(&items, item) {
		if (item->kind == JOIN_NATIVE && item->i < 4)
			loops[nr_loops++] = at;
		if (item->kind == JOIN_ELIDED)
			elided = at;
		at++;
	}
	assert_int_equal(at, SHADOW_MAX_FRAMES + 1 + 5);
	/* run 1 goes on in what is left out, where run 2 is as a whole */
	assert_int_equal(loops[0], 10);
	assert_int_equal(loops[1], 1 + SHADOW_MAX_FRAMES / 2);
	assert_int_equal(loops[2], loops[1] + 1);
	assert_int_equal(elided, loops[2] + 1);
	assert_int_equal(loops[3], at - 2);
	vec_release(&items);
}

/* Functions that say which native frame they are. */
static void test_placed(void **state)
{
	const struct shadow_frame frames[] = {{0, 0, SHADOW_PLACED},
					      {0, 2, SHADOW_PLACED},
					      {0, 2, SHADOW_PLACED},
					      {0, 9, SHADOW_PLACED}};
	const struct shadow_stack shadow = {.frames = frames, .nr = 4};
	static const bool is_loop[4];
	const struct join_native native = {.is_loop = is_loop, .nr = 4, .elided = 4};
	static const struct join_item expected[] = {
		{JOIN_NATIVE, 0}, {JOIN_SHADOW, 0}, {JOIN_NATIVE, 1}, {JOIN_NATIVE, 2},
		{JOIN_SHADOW, 1}, {JOIN_SHADOW, 2}, {JOIN_NATIVE, 3}, {JOIN_SHADOW, 3}};
	struct join_items items = {0};

	(void)state;
	assert_true(join_stacks(&native, &shadow, &items));
	assert_int_equal(items.nr, 8);
	for (size_t i = 0; i < items.nr; i++) {
		assert_int_equal(items.at[i].kind, expected[i].kind);
		assert_int_equal(items.at[i].i, expected[i].i);
	}
	vec_release(&items);
}

/* Where there was no time for more functions, a note says so. */
static void test_placed_and_cut(void **state)
{
	const struct shadow_frame frames[] = {{0, 0, SHADOW_PLACED}, {0, 1, SHADOW_PLACED}};
	const struct shadow_stack shadow = {.frames = frames, .nr = 2, .end = SHADOW_END_TOO_DEEP};
	static const bool is_loop[3];
	const struct join_native native = {.is_loop = is_loop, .nr = 3, .elided = 3};
	static const struct join_item expected[] = {{JOIN_NATIVE, 0},	 {JOIN_SHADOW, 0},
						    {JOIN_NATIVE, 1},	 {JOIN_SHADOW, 1},
						    {JOIN_UNMATCHED, 0}, {JOIN_NATIVE, 2}};
	struct join_items items = {0};

	(void)state;
	assert_false(join_stacks(&native, &shadow, &items));
	assert_int_equal(items.nr, 6);
	for (size_t i = 0; i < items.nr; i++) {
		assert_int_equal(items.at[i].kind, expected[i].kind);
		assert_int_equal(items.at[i].i, expected[i].i);
	}
	vec_release(&items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_elided),
		cmocka_unit_test(test_placed),
		cmocka_unit_test(test_placed_and_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
