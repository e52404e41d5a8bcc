// SPDX-License-Identifier: BSD-2-Clause
/* Whose is an address? Flattened spans against the sentence in spans.h, address by address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "object/spans.h"

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
	return SPANS_NONE;
}

static void test_nothing(void **state)
{
	struct spans spans = {0};

	(void)state;
	assert_int_equal(spans_find(&spans, 0), SPANS_NONE);
	spans_finish(&spans);
	assert_int_equal(spans_find(&spans, UINT64_MAX), SPANS_NONE);
	spans_release(&spans);
}

static void test_picture(void **state)
{
	static const uint64_t starts[] = {0, 8, 15, 30, 34, 39};
	static const uint32_t owners[] = {0, 1, 0, SPANS_NONE, 2, SPANS_NONE};
	struct spans spans = {0};

	(void)state;
	assert_true(spans_advance(&spans, 0) == UINT64_MAX);
	spans_add(&spans, 0, 30, 0);
	assert_int_equal(spans_advance(&spans, 8), 30);
	spans_add(&spans, 8, 15, 1);
	assert_int_equal(spans_advance(&spans, 10), 15);
	assert_int_equal(spans_advance(&spans, 15), 30);
	spans_add(&spans, 34, 39, 2);
	spans_finish(&spans);
	assert_int_equal(spans.starts.nr, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(spans.starts.at[i], starts[i]);
		assert_int_equal(spans.owners.at[i], owners[i]);
	}
	spans_release(&spans);
}

static void test_any(void **state)
{
	struct stretch all[MOST];

	(void)state;
	srand(1);
	for (int round = 0; round < 20000; round++) {
		struct spans spans = {0};
		uint32_t nr = rand() % (MOST + 1);

		for (uint32_t i = 0; i < nr; i++) {
			all[i].start = rand() % SPAN;
			all[i].limit = all[i].start + 1 + rand() % (SPAN / 2);
		}
		qsort(all, nr, sizeof(all[0]), compare_starts);
		for (uint32_t i = 0; i < nr; i++)
			spans_add(&spans, all[i].start, all[i].limit, i);
		spans_finish(&spans);
		assert_true(spans.starts.nr <= 2 * nr + 1);
		for (uint64_t addr = 0; addr < 2 * SPAN; addr++)
			assert_int_equal(spans_find(&spans, addr), owner_of(all, nr, addr));
		spans_release(&spans);
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
