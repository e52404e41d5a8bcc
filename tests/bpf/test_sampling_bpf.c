/* SPDX-License-Identifier: BSD-2-Clause */
/* The sampling probability that BPF computes without floating point, against 1 - e^(-size/rate). */
#include "shim/host.h"

#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sampling.bpf.h"
#include "collect/sampling.h"

#define MAX_ERROR 2e-5L

static const u64 rates[] = {2, 16, 1000, 65536, 524288, 1ull << 30, 1ull << 40};

#define NR_RATES (sizeof(rates) / sizeof(rates[0]))

static u64 random_u64(void)
{
	u64 high = bpf_get_prandom_u32();

	return high << 32 | bpf_get_prandom_u32();
}

static void set_rate(u64 rate_bytes)
{
	host_config()->rate_bytes = rate_bytes;
	sampling_fill(host_map_value("sampling_tables"), rate_bytes);
}

static int set_up(void **state)
{
	(void)state;
	host_open();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	host_close();
	return 0;
}

static long double relative_error(u64 size, u64 rate)
{
	long double expected = -expm1l(-(long double)size / (long double)rate);

	return fabsl((long double)sampling_threshold(size) * 0x1p-64L - expected) / expected;
}

static void test_threshold_is_exact_enough(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_RATES; i++) {
		long double worst = 0, error;

		set_rate(rates[i]);
		for (u64 size = 1; size < 4096; size++) {
			error = relative_error(size, rates[i]);
			worst = error > worst ? error : worst;
		}
		for (u32 n = 0; n < 100000; n++) {
			error = relative_error((random_u64() >> 16 >> (random_u64() % 48)) + 1,
					       rates[i]);
			worst = error > worst ? error : worst;
		}
		print_message("rate %llu: relative error at most %.2Le\n", rates[i], worst);
		assert_true(worst < MAX_ERROR);
	}
}

/* The left end of a piece is where rounding could make it fall. */
static void test_threshold_never_falls(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_RATES; i++) {
		u64 last = 0;

		set_rate(rates[i]);
		for (u64 size = 1; size < 4096; size++) {
			assert_true(sampling_threshold(size) >= last);
			last = sampling_threshold(size);
		}
		for (u32 octave = 12; octave < ABI_SAMPLING_OCTAVES; octave++)
			for (u32 step = 0; step < ABI_SAMPLING_STEPS; step++) {
				u64 start = (u64)(ABI_SAMPLING_STEPS + step)
					    << (octave - ABI_SAMPLING_STEP_BITS);

				assert_true(sampling_threshold(start - 1) >= last);
				assert_true(sampling_threshold(start) >=
					    sampling_threshold(start - 1));
				assert_true(sampling_threshold(start + 1) >=
					    sampling_threshold(start));
				last = sampling_threshold(start + 1);
			}
		for (u32 n = 0; n < 100000; n++) {
			u64 size = random_u64() >> (random_u64() % 63);
			u64 more = size + (random_u64() >> (random_u64() % 63)) / 2;

			if (more > size)
				assert_true(sampling_threshold(more) >= sampling_threshold(size));
		}
	}
}

static void test_ends(void **state)
{
	(void)state;
	set_rate(524288);
	assert_int_equal(sampling_threshold(0), sampling_threshold(1));
	assert_int_equal(sampling_threshold(1ull << ABI_SAMPLING_OCTAVES), ~0ull);
	assert_int_equal(sampling_threshold(~0ull), ~0ull);
	assert_true(sampling_threshold((1ull << ABI_SAMPLING_OCTAVES) - 1) > ~0ull - (1ull << 40));
	for (u64 rate = 0; rate < 2; rate++) {
		host_config()->rate_bytes = rate; /* the table does not matter */
		for (u32 i = 0; i < 1000; i++)
			assert_true(sampling_draw(i));
	}
}

static void check_frequency(u64 size, u64 rate, u32 nr_tosses)
{
	double p = -expm1(-(double)size / (double)rate);
	double sigma = sqrt(nr_tosses * p * (1 - p));
	u32 nr = 0;

	for (u32 i = 0; i < nr_tosses; i++)
		nr += sampling_draw(size);
	assert_true(fabs(nr - nr_tosses * p) <= 4 * sigma + 1e-6);
}

static void test_frequency(void **state)
{
	static const double ratios[] = {1e-4, 0.01, 0.1, 0.7, 1, 3, 20};

	(void)state;
	for (size_t i = 0; i < NR_RATES; i++) {
		set_rate(rates[i]);
		for (size_t j = 0; j < sizeof(ratios) / sizeof(ratios[0]); j++) {
			u64 size = (u64)((double)rates[i] * ratios[j]);

			if (size)
				check_frequency(size, rates[i], 200000);
		}
	}
}

static bool toss_with(u64 size, u32 first, u32 second)
{
	host.next_randoms[1] = first;
	host.next_randoms[0] = second;
	host.nr_next_randoms = 2;
	return sampling_draw(size);
}

/* Both halves of the threshold count, and the second number is drawn only for the second. */
static void test_exact_to_the_last_bit(void **state)
{
	u64 threshold;
	u32 high, low;

	(void)state;
	set_rate(1ull << 40);
	threshold = sampling_threshold(5000);
	high = threshold >> 32;
	low = threshold;
	assert_true(high > 0 && low > 0);
	assert_true(toss_with(5000, high - 1, ~0u));
	assert_int_equal(host.nr_next_randoms, 1);
	assert_false(toss_with(5000, high + 1, 0));
	assert_int_equal(host.nr_next_randoms, 1);
	assert_true(toss_with(5000, high, low - 1));
	assert_false(toss_with(5000, high, low));
	assert_int_equal(host.nr_next_randoms, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_threshold_is_exact_enough, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_threshold_never_falls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_frequency, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exact_to_the_last_bit, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
