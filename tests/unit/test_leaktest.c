// SPDX-License-Identifier: BSD-2-Clause
/* What grows steadily is suspected, and nothing else is; and how counts become pieces of time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "record/leaktest.h"
#include "record/timeline.h"

#define NR 40

/* A Poisson number, from the C library's generator. */
static int poisson(double mean)
{
	double product = 1, limit = exp(-mean);
	int nr = -1;

	do {
		product *= (rand() + 1.0) / (RAND_MAX + 2.0);
		nr++;
	} while (product > limit);
	return nr;
}

static struct leak_stack stack_of(const double growth[NR])
{
	return (struct leak_stack){.growth_bytes = growth,
				   .nr_pieces = NR,
				   .piece_s = 0.25,
				   .nr_taken = 100000,
				   .nr_freed = 99900,
				   .nr_old = 50,
				   .oldest_freed_ns = NSEC_PER_SEC / 1000,
				   .age_ns = 5 * NSEC_PER_SEC};
}

static void test_a_leak(void **state)
{
	double growth[NR];
	struct leak_stack stack = stack_of(growth);
	struct leak_verdict verdict;
	int nr_found = 0;

	(void)state;
	srand(1);
	for (int run = 0; run < 100; run++) {
		for (int i = 0; i < NR; i++)
			growth[i] = 100 * poisson(3);
		verdict = leak_judge(&stack, 1);
		nr_found += verdict.kind == LEAK_EXCEPTION;
		if (verdict.kind)
			assert_true(fabs(verdict.slope - 1200) < 5 * verdict.error + 1);
	}
	assert_true(nr_found >= 95);
	stack.nr_old = 4;
	assert_int_equal(leak_judge(&stack, 1).kind, LEAK_NONE);
}

/* Nothing is freed, or what is freed is old, or much of it is left: it grows, which a cache does as well. */
static void test_growth(void **state)
{
	double growth[NR];
	struct leak_stack stack = stack_of(growth);

	(void)state;
	for (int i = 0; i < NR; i++)
		growth[i] = 400 + i % 3;
	assert_int_equal(leak_judge(&stack, 1).kind, LEAK_EXCEPTION);
	stack.oldest_freed_ns = 6 * NSEC_PER_SEC;
	assert_int_equal(leak_judge(&stack, 1).kind, LEAK_GROWTH);
	stack.oldest_freed_ns = 0;
	stack.nr_freed = 0;
	assert_int_equal(leak_judge(&stack, 1).kind, LEAK_GROWTH);
	stack.is_over = true;
	assert_int_equal(leak_judge(&stack, 1).kind, LEAK_NONE);
	stack.nr_freed = 99900;
	assert_int_equal(leak_judge(&stack, 1).kind, LEAK_EXCEPTION);
}

/* In use at random around a level, filled early or late, in waves, in a few large steps. */
static void test_what_does_not_grow(void **state)
{
	double growth[NR];
	struct leak_stack stack = stack_of(growth);
	double level, before;

	(void)state;
	srand(2);
	for (int run = 0; run < 2000; run++) {
		before = 0;
		for (int i = 0; i < NR; i++) {
			level = 100.0 * poisson(20);
			growth[i] = level - before;
			before = level;
		}
		assert_int_equal(leak_judge(&stack, 1).kind, LEAK_NONE);
	}
	for (int full = 0; full < NR * 7 / 8; full++) {
		for (int i = 0; i < NR; i++)
			growth[i] = i < full ? 1000 : i % 2 ? 50 : -50;
		assert_int_equal(leak_judge(&stack, 1).kind, LEAK_NONE);
	}
	for (int i = 0; i < NR; i++)
		growth[i] = i % 8 == 7 ? -7000 : 1000;
	assert_int_equal(leak_judge(&stack, 1).kind, LEAK_NONE);
	for (int i = 0; i < NR; i++)
		growth[i] = i % 6 ? 0 : 100000 << i / 6;
	assert_int_equal(leak_judge(&stack, 1).kind, LEAK_NONE);
	for (int i = 0; i < NR; i++)
		growth[i] = 0;
	assert_int_equal(leak_judge(&stack, 1).kind, LEAK_NONE);
	stack.nr_pieces = 15;
	for (int i = 0; i < NR; i++)
		growth[i] = 100;
	assert_int_equal(leak_judge(&stack, 1).kind, LEAK_NONE);
}

/* Of so many stacks of 20 programs, each a random walk, how many are suspected? */
static int nr_suspected(int nr_stacks, uint64_t nr_tested)
{
	enum {
		NR_PROGRAMS = 20
	};
	double growth[NR];
	struct leak_stack stack = stack_of(growth);
	int nr_found = 0;

	srand(4);
	stack.nr_pieces = LEAK_LEAST_PIECES;
	for (int run = 0; run < NR_PROGRAMS * nr_stacks; run++) {
		for (int i = 0; i < LEAK_LEAST_PIECES; i++)
			growth[i] = 100 * (poisson(10) - poisson(10));
		nr_found += leak_judge(&stack, nr_tested).kind != LEAK_NONE;
	}
	return nr_found;
}

/* The more stacks are tested, the more of them look like a leak by chance. */
static void test_many_stacks(void **state)
{
	(void)state;
	assert_true(nr_suspected(2000, 1) > 0);
	assert_int_equal(nr_suspected(2000, 2000), 0);
}

/* A leak is found among thousands of stacks if it has some more samples: t is about the root of their number. */
static void test_a_leak_among_many(void **state)
{
	double growth[NR];
	struct leak_stack stack = stack_of(growth);
	int nr_found = 0;

	(void)state;
	srand(5);
	for (int run = 0; run < 100; run++) {
		for (int i = 0; i < NR; i++)
			growth[i] = 100 * poisson(8);
		nr_found += leak_judge(&stack, 2000).kind == LEAK_EXCEPTION;
	}
	assert_true(nr_found >= 95);
}

static double sum_of(const struct timeline *timeline)
{
	double sum = 0;

	for (int i = 0; i < TIMELINE_BINS; i++)
		sum += timeline->net[i];
	return sum;
}

/* A constant rate is flat in all pieces that are over, whenever counts come, and however often pieces were joined. */
static void test_timeline(void **state)
{
	struct timeline_clock clock = {.start_ns = 1000 * NSEC_PER_SEC};
	struct timeline timeline = {0};
	uint64_t now_ns = clock.start_ns, step_ns, taken = 0;
	uint32_t nr;

	(void)state;
	srand(3);
	timeline_advance(&clock, now_ns);
	while (now_ns < clock.start_ns + 1000 * NSEC_PER_SEC) {
		step_ns = 1 + rand() % NSEC_PER_SEC;
		now_ns += step_ns;
		timeline_advance(&clock, now_ns);
		timeline_add(&timeline, &clock, step_ns / 1000);
		taken += step_ns / 1000;
	}
	assert_int_equal(clock.bin_ns, 16 * NSEC_PER_SEC);
	assert_true(fabs(sum_of(&timeline) - taken) < 1);
	nr = (now_ns - clock.start_ns) / clock.bin_ns;
	for (uint32_t i = 0; i < nr; i++)
		assert_true(fabs(timeline.net[i] - 16e6) < 1000);
	timeline_born(&timeline, &clock, clock.start_ns + 17 * NSEC_PER_SEC);
	timeline_born(&timeline, &clock, clock.start_ns - 1);
	timeline_born(&timeline, &clock, UINT64_MAX / 2);
	assert_int_equal(timeline.born[1], 1);
	assert_int_equal(timeline.born[0], 1);
	assert_int_equal(timeline.born[TIMELINE_BINS - 1], 1);
	assert_int_equal(timeline.oldest_ns, clock.start_ns - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_leak),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_what_does_not_grow),
		cmocka_unit_test(test_many_stacks),
		cmocka_unit_test(test_a_leak_among_many),
		cmocka_unit_test(test_timeline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
