// SPDX-License-Identifier: BSD-2-Clause
/* collect/shadowstack: messages to plain records, whatever their length. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "collect/shadowstack.h"

/* As BPF writes it: frame i of nr has place i. */
static size_t write_message(struct abi_shadow *message, uint32_t nr)
{
	*message = (struct abi_shadow){.event = ABI_EVENT_SHADOW, .nr_walked = nr};
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t at = i < ABI_SHADOW_HALF ? i : ABI_SHADOW_HALF + i % ABI_SHADOW_HALF;

		message->frames[at] = (struct abi_frame){.place = i, .entries = i % 2};
		message->nr_entries += i % 2;
	}
	nr = nr < ABI_MAX_SHADOW_FRAMES ? nr : ABI_MAX_SHADOW_FRAMES;
	return offsetof(struct abi_shadow, frames) + nr * sizeof(struct abi_frame);
}

static void check(uint32_t nr)
{
	struct abi_shadow *message scoped(freep) = xmalloc(sizeof(*message));
	struct shadow_frame frames[SHADOW_MAX_FRAMES];
	struct shadow_stack stack;
	size_t len_bytes = write_message(message, nr);
	uint32_t nr_elided = nr > SHADOW_MAX_FRAMES ? nr - SHADOW_MAX_FRAMES : 0;

	shadowstack_read(message, len_bytes, frames, &stack);
	assert_int_equal(stack.nr, nr - nr_elided);
	assert_int_equal(stack.nr_elided, nr_elided);
	assert_int_equal(stack.nr_elided_entries, nr_elided / 2);
	assert_int_equal(stack.end, SHADOW_END_ROOT);
	for (uint32_t i = 0; i < stack.nr; i++)
		assert_int_equal(frames[i].place, i < SHADOW_MAX_FRAMES / 2 ? i : i + nr_elided);
}

static void test_both_ends(void **state)
{
	static const uint32_t numbers[] = {0,	1,   255, 256, 257,  511,
					   512, 514, 600, 768, 1000, 4096};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		check(numbers[i]);
}

static void test_texts(void **state)
{
	struct abi_text *message scoped(freep) = xcalloc(1, sizeof(*message));
	size_t head_bytes = offsetof(struct abi_text, bytes);
	struct runtime_text text;

	(void)state;
	message->part = ABI_TEXT_LINES;
	message->len_bytes = 5;
	message->function = 0x1000;
	assert_true(shadowstack_read_text(message, head_bytes + 8, &text));
	assert_int_equal(text.part, TEXT_LINES);
	assert_int_equal(text.len_bytes, 5);
	assert_ptr_equal(text.bytes, message->bytes);
	assert_false(shadowstack_read_text(message, head_bytes + 4, &text));
	assert_false(shadowstack_read_text(message, head_bytes - 1, &text));
	message->part = ABI_NR_TEXT_PARTS;
	assert_false(shadowstack_read_text(message, head_bytes + 8, &text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ends),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
