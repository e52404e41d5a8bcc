// SPDX-License-Identifier: BSD-2-Clause
/* record/framenames: what is held of functions that a target makes without end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/framenames.h"

#define MOST_BYTES 65536

/* A function that is made up of one short text. */
static void tell(struct framenames *names, uint64_t object)
{
	framenames_text(names, &(struct runtime_text){.tgid = 1,
						      .function = object,
						      .part = TEXT_OBJECT,
						      .bytes = "x",
						      .len_bytes = 1});
}

static enum framename_state state_of(struct framenames *names, uint64_t object)
{
	struct framename found;

	return framenames_find(names, 1, 0, &(struct shadow_frame){.function = object}, false,
			       &found);
}

static void test_it_is_bounded(void **state)
{
	struct framenames *names = framenames_new(NULL, MOST_BYTES);
	size_t nr_kept = 0;

	(void)state;
	for (uint64_t object = 16; object < 16 * MOST_BYTES; object += 16) {
		tell(names, object);
		nr_kept += state_of(names, object) == FRAMENAME_NO_TIME;
	}
	assert_in_range(nr_kept, 64, MOST_BYTES / 64); /* each holds more than its text */
	assert_int_equal(state_of(names, 16), FRAMENAME_NO_TIME);
	assert_int_equal(state_of(names, 16 * (MOST_BYTES - 1)), FRAMENAME_GONE);
	framenames_free(names);
}

static void test_it_must_be_whole(void **state)
{
	struct framenames *names = framenames_new(NULL, MOST_BYTES);

	(void)state;
	framenames_text(names, &(struct runtime_text){.tgid = 1,
						      .function = 16,
						      .part = TEXT_NAME,
						      .bytes = "f",
						      .len_bytes = 1});
	assert_int_equal(state_of(names, 16), FRAMENAME_GONE);
	tell(names, 16);
	assert_int_equal(state_of(names, 16), FRAMENAME_NO_TIME);
	assert_int_equal(state_of(names, 32), FRAMENAME_GONE);
	framenames_free(names);
}

/* The name is longer than what is left; the text after it is not. */
static void test_part_of_it_has_no_room(void **state)
{
	static const char name[MOST_BYTES] = {'f'};
	struct framenames *names = framenames_new(NULL, MOST_BYTES);

	(void)state;
	framenames_text(names, &(struct runtime_text){.tgid = 1,
						      .function = 16,
						      .part = TEXT_FILE,
						      .bytes = "a",
						      .len_bytes = 1});
	framenames_text(names, &(struct runtime_text){.tgid = 1,
						      .function = 16,
						      .part = TEXT_NAME,
						      .bytes = name,
						      .len_bytes = sizeof(name)});
	tell(names, 16);
	assert_int_equal(state_of(names, 16), FRAMENAME_GONE);
	framenames_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_bounded),
		cmocka_unit_test(test_it_must_be_whole),
		cmocka_unit_test(test_part_of_it_has_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
