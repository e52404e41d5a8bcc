// SPDX-License-Identifier: BSD-2-Clause
/* Whose is an address? Flattened ranges against the sentence in ranges.h, address by address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "object/ranges.h"

#define SPAN 64 /* addresses */
#define MOST 12 /* stretches */

struct stretch {
	uint64_t start, limit;
};

static int compare_starts(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* The greatest start wins, of equal ones the last: they are sorted. */
static uint32_t owner_of(const struct stretch *all, uint32_t nr, uint64_t addr)
{
	while (nr-- > 0)
		if (all[nr].start <= addr && addr < all[nr].limit)
			return nr;
	return RANGES_NONE;
}

static void test_nothing(void **state)
{
	struct ranges ranges = {0};

	(void)state;
	assert_int_equal(ranges_find(&ranges, 0), RANGES_NONE);
	ranges_finish(&ranges);
	assert_int_equal(ranges_find(&ranges, UINT64_MAX), RANGES_NONE);
	ranges_release(&ranges);
}

static void test_picture(void **state)
{
	static const uint64_t starts[] = {0, 8, 15, 30, 34, 39};
	static const uint32_t owners[] = {0, 1, 0, RANGES_NONE, 2, RANGES_NONE};
	struct ranges ranges = {0};

	(void)state;
	assert_true(ranges_advance(&ranges, 0) == UINT64_MAX);
	ranges_add(&ranges, 0, 30, 0);
	assert_int_equal(ranges_advance(&ranges, 8), 30);
	ranges_add(&ranges, 8, 15, 1);
	assert_int_equal(ranges_advance(&ranges, 10), 15);
	assert_int_equal(ranges_advance(&ranges, 15), 30);
	ranges_add(&ranges, 34, 39, 2);
	ranges_finish(&ranges);
	assert_int_equal(ranges.starts.nr, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(ranges.starts.at[i], starts[i]);
		assert_int_equal(ranges.owners.at[i], owners[i]);
	}
	ranges_release(&ranges);
}

static void test_any(void **state)
{
	struct stretch all[MOST];

	(void)state;
	srand(1);
	for (int round = 0; round < 20000; round++) {
		struct ranges ranges = {0};
		uint32_t nr = rand() % (MOST + 1);

		for (uint32_t i = 0; i < nr; i++) {
			all[i].start = rand() % SPAN;
			all[i].limit = all[i].start + 1 + rand() % (SPAN / 2);
		}
		qsort(all, nr, sizeof(all[0]), compare_starts);
		for (uint32_t i = 0; i < nr; i++)
			ranges_add(&ranges, all[i].start, all[i].limit, i);
		ranges_finish(&ranges);
		assert_true(ranges.starts.nr <= 2 * nr + 1);
		for (uint64_t addr = 0; addr < 2 * SPAN; addr++)
			assert_int_equal(ranges_find(&ranges, addr), owner_of(all, nr, addr));
		ranges_release(&ranges);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_picture),
		cmocka_unit_test(test_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
