// SPDX-License-Identifier: BSD-2-Clause
/* Ranges that are allocated and freed at random: none overlap, and a freed one is not reused too early. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "collect/rangealloc.h"

static void test_rests_before_it_is_used_again(void **state)
{
	struct rangealloc alloc = {.limit = 10};
	uint32_t a, b;

	(void)state;
	assert_int_equal(rangealloc_take(&alloc, 10, &a), 0);
	rangealloc_free(&alloc, a, 10);
	assert_int_equal(alloc.nr_used, 0);
	assert_int_equal(rangealloc_take(&alloc, 1, &b), -ENOSPC);
	rangealloc_settle(&alloc);
	assert_int_equal(rangealloc_take(&alloc, 1, &b), -ENOSPC);
	rangealloc_settle(&alloc);
	assert_int_equal(rangealloc_take(&alloc, 10, &b), 0);
	assert_int_equal(b, a);
	rangealloc_release(&alloc);
}

/* Against a map of who has what: never twice, never across a boundary, never out of bounds. */
static void test_random_ranges(void **state)
{
	enum {
		LIMIT = 4096,
		BOUNDARY = 256,
		NR = 200
	};
	static unsigned char owner[LIMIT];
	struct rangealloc alloc = {.limit = LIMIT, .boundary = BOUNDARY};
	struct range held[NR] = {{0}};
	int taken = 0;

	(void)state;
	srandom(1);
	for (int turn = 0; turn < 200000; turn++) {
		struct range *range = &held[random() % NR];
		uint32_t nr = 1 + random() % 60;

		if (range->nr) {
			for (uint32_t i = 0; i < range->nr; i++)
				owner[range->at + i] = 0;
			rangealloc_free(&alloc, range->at, range->nr);
			range->nr = 0;
		} else if (!rangealloc_take(&alloc, nr, &range->at)) {
			range->nr = nr;
			taken++;
			assert_true(range->at + nr <= LIMIT);
			assert_int_equal(range->at / BOUNDARY, (range->at + nr - 1) / BOUNDARY);
			for (uint32_t i = 0; i < nr; i++)
				assert_int_equal(owner[range->at + i]++, 0);
		}
		if (turn % 50 == 0)
			rangealloc_settle(&alloc);
	}
	assert_true(taken > 50000);
	rangealloc_release(&alloc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rests_before_it_is_used_again),
		cmocka_unit_test(test_random_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
