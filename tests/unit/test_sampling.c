// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table of sampling probabilities, read here as bpf/sampling.bpf.c reads it, against the formula in
 * long double.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "collect/sampling.h"

static uint64_t threshold(const struct abi_sampling_piece *pieces, uint64_t size)
{
	uint32_t piece = size, octave;
	uint64_t rest = 0;

	if (size >> ABI_SAMPLING_OCTAVES)
		return UINT64_MAX;
	if (size >= ABI_SAMPLING_EXACT) {
		octave = 63 - __builtin_clzll(size) - ABI_SAMPLING_STEP_BITS;
		piece = (octave + 1) * ABI_SAMPLING_STEPS +
			((size >> octave) & (ABI_SAMPLING_STEPS - 1));
		rest = size & ((1ull << octave) - 1);
	}
	assert_true(piece < ABI_SAMPLING_PIECES);
	return pieces[piece].base + pieces[piece].slope * rest;
}

static long double expected(uint64_t size, uint64_t rate)
{
	return -expm1l(-(long double)size / rate);
}

static void expect_near(const struct abi_sampling_piece *pieces, uint64_t size, uint64_t rate)
{
	long double p = threshold(pieces, size) / 0x1p64L, truth = expected(size, rate);

	assert_true(fabsl(p - truth) <= truth * 2e-5L + 0x1p-60L);
}

static const uint64_t rates[] = {2, 16, 1000, 65536, 524288, 1ull << 30, 1ull << 40};

static void test_probability(void **state)
{
	struct abi_sampling_piece *pieces = malloc(ABI_SAMPLING_PIECES * sizeof(*pieces));

	(void)state;
	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		sampling_fill(pieces, rates[r]);
		for (uint64_t size = 1; size < 5000; size++)
			expect_near(pieces, size, rates[r]);
		for (int bit = 12; bit < ABI_SAMPLING_OCTAVES; bit++)
			for (int step = -3; step < 60; step++)
				expect_near(pieces, (1ull << bit) + step * ((1ll << bit) / 61),
					    rates[r]);
	}
	free(pieces);
}

static void test_never_falls(void **state)
{
	struct abi_sampling_piece *pieces = malloc(ABI_SAMPLING_PIECES * sizeof(*pieces));

	(void)state;
	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		uint64_t before = 0;

		sampling_fill(pieces, rates[r]);
		for (uint64_t size = 1; size < 200000; size++) {
			uint64_t now = threshold(pieces, size);

			assert_true(now >= before);
			before = now;
		}
		assert_int_equal(threshold(pieces, 1ull << 60), UINT64_MAX);
	}
	free(pieces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probability),
		cmocka_unit_test(test_never_falls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
