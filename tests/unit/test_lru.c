// SPDX-License-Identifier: BSD-2-Clause
/* An order of use against the same kept in an array that is searched. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/lru.h"

#define NUMBERS 16

/* The oldest first. */
struct order {
	uint32_t at[NUMBERS];
	size_t nr;
};

static size_t find(const struct order *order, uint32_t i)
{
	size_t at = 0;

	while (at < order->nr && order->at[at] != i)
		at++;
	return at;
}

static void move_to_end(struct order *order, struct lru *lru, uint32_t i)
{
	size_t at = find(order, i);

	if (at < order->nr) {
		lru_remove(lru, i);
		memmove(&order->at[at], &order->at[at + 1],
			(--order->nr - at) * sizeof(order->at[0]));
	}
	lru_push(lru, i);
	order->at[order->nr++] = i;
}

static void remove_oldest(struct order *order, struct lru *lru)
{
	lru_remove(lru, order->at[0]);
	memmove(&order->at[0], &order->at[1], --order->nr * sizeof(order->at[0]));
}

static void test_as_an_array(void **state)
{
	struct order order = {0};
	struct lru lru = {0};
	uint32_t random = 1;

	(void)state;
	assert_int_equal(lru_oldest(&lru), LRU_NONE);
	for (int step = 0; step < 20000; step++) {
		random = random * 1664525 + 1013904223;
		/* more are used than leave for a while, then the other way round, down to none */
		if (order.nr && (random >> 28) < (step / 100 % 2 ? 12 : 4))
			remove_oldest(&order, &lru);
		else
			move_to_end(&order, &lru, (random >> 16) % NUMBERS);
		assert_int_equal(lru_oldest(&lru), order.nr ? order.at[0] : LRU_NONE);
	}
	while (order.nr) {
		assert_int_equal(lru_oldest(&lru), order.at[0]);
		remove_oldest(&order, &lru);
	}
	assert_int_equal(lru_oldest(&lru), LRU_NONE);
	lru_release(&lru);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_an_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
