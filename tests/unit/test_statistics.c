// SPDX-License-Identifier: BSD-2-Clause
/*
 * Are the estimates what they claim to be? The sampler is bpf/sampling.bpf.c itself, compiled for the host,
 * on the table that user space fills; the estimator is profile/scale. What is expected of n
 * allocations of s bytes at rate R, a = s/R:
 *
 *	sampled		k ~ Binomial(n, p), p = 1 - e^-a
 *	estimate	k s/p, mean n s, variance n s^2 / (e^a - 1)
 *	its own error	k s^2 (1-p)/p^2, mean the same variance
 *
 * All of it is checked within 4 standard errors of the check itself, with fixed random numbers, so
 * that a run is like every other.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/host.h"

#include "sampling.bpf.c"

#include "collect/sampling.h"
#include "profile/scale.h"

#define R	  (512 * 1024)
#define NR(array) (sizeof(array) / sizeof(*(array)))

static struct sampling_table table;
static uint64_t random_state;

static void *host_lookup(const void *map, const void *key)
{
	(void)map;
	(void)key;
	return &table;
}

/* splitmix64; the kernel's own generator is no worse. Source: prng.di.unimi.it/splitmix64.c. */
static uint32_t host_random(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (z ^ (z >> 31)) >> 32;
}

static void set_rate(uint64_t rate)
{
	config.rate_bytes = rate;
	sampling_fill(table.pieces, rate);
	random_state = rate;
}

static uint64_t nr_sampled(uint64_t nr, uint64_t size)
{
	uint64_t sampled = 0;

	for (uint64_t i = 0; i < nr; i++)
		sampled += sampling_draw(size);
	return sampled;
}

/* Sizes with so many allocations of each that a run of them takes a few samples at least. */
static const struct {
	uint64_t size, nr;
} cases[] = {
	{1, 2000000},  {16, 400000}, {100, 100000}, {4096, 20000},  {65536, 4000},
	{R / 2, 1000}, {R, 1000},    {2 * R, 1000}, {10 * R, 1000},
};

static void expect_within(double value, double truth, double tolerance, const char *what,
			  uint64_t size)
{
	if (!(fabs(value - truth) <= tolerance))
		print_message("%s of size %lu: %g, not %g +- %g\n", what, (unsigned long)size,
			      value, truth, tolerance);
	assert_true(fabs(value - truth) <= tolerance);
}

/* The mean over many runs is the truth; so is the mean of the errors that runs give themselves. */
static void test_unbiased_and_variance(void **state)
{
	enum {
		NR_RUNS = 200
	};

	(void)state;
	set_rate(R);
	for (size_t c = 0; c < NR(cases); c++) {
		double n = cases[c].nr, s = cases[c].size, p = -expm1(-s / R);
		double variance = n * s * s / expm1(s / R), sum = 0, objects = 0, squares = 0;
		/* the excess kurtosis of the binomial distribution: how far variances scatter */
		double kurtosis = (1 - 6 * p * (1 - p)) / (n * p * (1 - p)), own = 0;

		for (int run = 0; run < NR_RUNS; run++) {
			struct scale_sum estimate = {0};

			scale_heap_add(&estimate, nr_sampled(cases[c].nr, cases[c].size),
				       cases[c].size, R);
			sum += estimate.bytes;
			objects += estimate.objects;
			squares += (estimate.bytes - n * s) * (estimate.bytes - n * s);
			own += estimate.bytes_variance;
		}
		expect_within(sum / NR_RUNS, n * s, 4 * sqrt(variance / NR_RUNS), "mean bytes",
			      cases[c].size);
		expect_within(objects / NR_RUNS, n, 4 * sqrt(variance / NR_RUNS) / s,
			      "mean objects", cases[c].size);
		expect_within(squares / NR_RUNS / variance, 1, 4 * sqrt((2 + kurtosis) / NR_RUNS),
			      "variance", cases[c].size);
		/* k scatters by sqrt(n p (1-p)) */
		expect_within(own / NR_RUNS / variance, 1, 4 * sqrt((1 - p) / (n * p * NR_RUNS)),
			      "own variance", cases[c].size);
	}
}

/* The bound that makes any rate safe: the error of one allocation never exceeds 0.81 R. */
static void test_error_is_bounded(void **state)
{
	(void)state;
	for (double a = 1e-6; a < 50; a *= 1.1)
		assert_true(sqrt(a * a / expm1(a)) <= 0.81);
}

/* The true value lies within two of its own standard errors in 93 to 97 % of runs. */
static void test_coverage(void **state)
{
	enum {
		NR_RUNS = 4000
	};

	(void)state;
	set_rate(R + 1);
	for (size_t c = 3; c < 8; c++) {
		double truth = (double)cases[c].nr * (double)cases[c].size;
		int inside = 0;

		for (int run = 0; run < NR_RUNS; run++) {
			struct scale_sum estimate = {0};

			scale_heap_add(&estimate, nr_sampled(cases[c].nr, cases[c].size),
				       cases[c].size, R + 1);
			inside += fabs(estimate.bytes - truth) <= 2 * sqrt(estimate.bytes_variance);
		}
		expect_within(100.0 * inside / NR_RUNS, 95, 2, "coverage in %", cases[c].size);
	}
}

/* Each size is sampled with its p, at every rate. */
static void test_inclusion_rate(void **state)
{
	static const uint64_t rates[] = {2, 100, 4096, 65536, R, 1ull << 30};
	static const uint64_t sizes[] = {1, 17, 63, 64, 65, 1000, 4097, 100001, 1 << 20, 1 << 28};
	const uint64_t nr = 200000;

	(void)state;
	for (size_t i = 0; i < NR(rates); i++) {
		set_rate(rates[i]);
		for (size_t j = 0; j < NR(sizes); j++) {
			double p = scale_heap_probability(sizes[j], rates[i]);

			expect_within(nr_sampled(nr, sizes[j]), nr * p,
				      4 * sqrt(nr * p * (1 - p)) + 2e-5 * nr * p + 1e-9 * nr + 1,
				      "inclusion", sizes[j]);
		}
	}
	/* Just below a power of 2, where a table of straight pieces is wrong if it is wrong anywhere. */
	set_rate(R);
	for (uint64_t size = 127; size < 2 * R; size = 8 * size + 7) {
		double p = scale_heap_probability(size, R), tosses = 4000000;

		expect_within(nr_sampled((uint64_t)tosses, size), tosses * p,
			      4 * sqrt(tosses * p * (1 - p)) + 2e-5 * tosses * p, "inclusion",
			      size);
	}
}

/* Nothing is remembered: not of the same size, nor in the pattern that fooled Go's (issue 12620). */
static void test_independence(void **state)
{
	const int nr = 4000000;
	double p = scale_heap_probability(R / 2, R), both = 0;
	uint64_t large = 0, small = 0;
	bool before = false, now;

	(void)state;
	set_rate(R);
	for (int i = 0; i < nr; i++, before = now) {
		now = sampling_draw(R / 2);
		both += ((double)now - p) * ((double)before - p);
	}
	expect_within(both / nr / (p * (1 - p)), 0, 4 / sqrt(nr), "lag-1 correlation", R / 2);

	for (int i = 0; i < nr / 2; i++) {
		large += sampling_draw(256 * 1024);
		small += sampling_draw(1024);
	}
	p = scale_heap_probability(256 * 1024, R);
	expect_within(large, nr / 2 * p, 4 * sqrt(nr / 2 * p * (1 - p)), "alternating", 256 * 1024);
	p = scale_heap_probability(1024, R);
	expect_within(small, nr / 2 * p, 4 * sqrt(nr / 2 * p * (1 - p)), "alternating", 1024);
}

/*
 * One stack, 32 Mi blocks of 16 bytes and 16 of 32 MiB: scaled by size the objects are right; scaled
 * by their average, as tools do that key by stack only, they are wrong by orders of magnitude.
 */
static void test_mixture(void **state)
{
	const double nr_small = 32 << 20, nr_large = 16, large = 32 << 20;
	struct scale_sum keyed = {0}, averaged = {0};
	uint64_t sampled_small, sampled_large, sampled_bytes;

	(void)state;
	set_rate(R);
	sampled_small = nr_sampled((uint64_t)nr_small, 16);
	sampled_large = nr_sampled((uint64_t)nr_large, (uint64_t)large);
	sampled_bytes = sampled_small * 16 + sampled_large * (uint64_t)large;
	assert_int_equal(sampled_large, nr_large);
	scale_heap_add(&keyed, sampled_small, 16, R);
	scale_heap_add(&keyed, sampled_large, (uint64_t)large, R);
	expect_within(keyed.objects, nr_small + nr_large, 4 * sqrt(nr_small / expm1(16.0 / R)),
		      "mixture objects", 16);
	expect_within(keyed.bytes, nr_small * 16 + nr_large * large, 4 * sqrt(keyed.bytes_variance),
		      "mixture bytes", 16);
	scale_heap_add(&averaged, sampled_small + sampled_large,
		       sampled_bytes / (sampled_small + sampled_large), R);
	assert_true(averaged.objects * 1000 < keyed.objects);
}

/* Rate 1, and 0: all of it, exactly. Size 0 is like size 1. */
static void test_everything(void **state)
{
	(void)state;
	config.rate_bytes = 1;
	assert_int_equal(nr_sampled(100000, 1), 100000);
	config.rate_bytes = 0;
	assert_int_equal(nr_sampled(100000, 1), 100000);
	set_rate(R);
	assert_int_equal(sampling_threshold(0), sampling_threshold(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unbiased_and_variance),
		cmocka_unit_test(test_error_is_bounded),
		cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_inclusion_rate),
		cmocka_unit_test(test_independence),
		cmocka_unit_test(test_mixture),
		cmocka_unit_test(test_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
