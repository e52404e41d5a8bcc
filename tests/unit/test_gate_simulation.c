// SPDX-License-Identifier: BSD-2-Clause
/*
 * Does the gate keep what it promises? Simulated programs, compared by gate_check() as `cprof check`
 * compares files: how often does it flag a program that is the same on both sides, and how often does
 * it find a function that went from 4 % of the time to 6 %?
 *
 * A program has 300 functions whose time falls off as 1/rank (Zipf), in a tree of calls, so that flat
 * and cumulative values are as entangled as in reality. A side has 12,000 samples, spread over its
 * runs. Runs jitter: in each, every function's time is multiplied by e^N(0, jitter) of its own, and the
 * whole run by e^N(0, 5 %), which is the machine. Seeds are fixed: the figures are the same each time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/verdict.h"

#define NR_FUNCTIONS 300
#define SIDE_SAMPLES 12000
#define NR_COMPARED  400
#define MACHINE_CV   0.05
#define PLANTED	     250 /* a leaf of the tree */

struct random {
	uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood 2014) */
static double uniform(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return ((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double normal(struct random *random)
{
	return sqrt(-2 * log(1 - uniform(random))) * cos(2 * M_PI * uniform(random));
}

static size_t parent_of(size_t function)
{
	return (function - 1) / 4;
}

/* Small means by multiplication (Knuth), others by transformed rejection (Hoermann 1993, PTRS). */
static double poisson(struct random *random, double mean)
{
	double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
	double product = 1;

	for (int nr = 0; mean < 10; nr++)
		if ((product *= 1 - uniform(random)) <= exp(-mean))
			return nr;
	for (;;) {
		double u = uniform(random) - 0.5, v = 1 - uniform(random), us = 0.5 - fabs(u);
		double k = floor((2 * a / us + b) * u + mean + 0.43);
		double accept = log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b));

		if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2))
			return k;
		if (k >= 0 && !(us < 0.013 && v > us) &&
		    accept <= k * log(mean) - mean - lgamma(k + 1))
			return k;
	}
}

/* A run of about so many samples of a program with these times. */
static void add_run(struct runs *runs, enum run_side side, const double *times, double jitter,
		    double nr_samples, struct random *random)
{
	double machine = exp(MACHINE_CV * normal(random)), sum = 0;
	double flat[NR_FUNCTIONS], cum[NR_FUNCTIONS], nr = 0;
	struct run *run = runs_add(runs, "simulated", side);

	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		sum += times[i];
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		double mean = nr_samples * times[i] / sum * machine * exp(jitter * normal(random));

		nr += flat[i] = mean > 0 ? poisson(random, mean) : 0;
	}
	memcpy(cum, flat, sizeof(cum));
	for (size_t i = NR_FUNCTIONS - 1; i > 0; i--)
		cum[parent_of(i)] += cum[i];
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%zu", i);
		if (cum[i] > 0)
			vec_push(&run->cells, (struct run_cell){runs_function(runs, name, "", 0),
								flat[i], cum[i], flat[i], cum[i]});
	}
	run->total = run->total_variance = run->nr_samples = nr;
	run->content = (uint64_t)(uniform(random) * 0x1p62) | 1;
}

static void zipf(double *times)
{
	double sum = 0;

	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		sum += times[i] = 1 / (1.0 + (i * 37) % NR_FUNCTIONS);
	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		times[i] /= sum;
}

static void compare(const double *base, const double *head, double jitter, unsigned int reps,
		    const struct gate_options *options, struct random *random, struct runs *runs,
		    struct gate_result *result)
{
	for (unsigned int i = 0; i < reps; i++) {
		add_run(runs, RUN_BASE, base, jitter, (double)SIDE_SAMPLES / reps, random);
		add_run(runs, RUN_HEAD, head, jitter, (double)SIDE_SAMPLES / reps, random);
	}
	gate_check(runs, options, result);
	assert_int_not_equal(result->verdict, GATE_INCONCLUSIVE);
}

/* How many of NR_COMPARED comparisons of a program with itself flag anything. */
static double false_alarms(double jitter, unsigned int reps, const struct gate_options *options)
{
	struct random random = {.state = 1 + reps * 1000 + jitter * 100};
	double times[NR_FUNCTIONS];
	unsigned int nr = 0;

	zipf(times);
	for (int i = 0; i < NR_COMPARED; i++) {
		struct runs runs = {0};
		struct gate_result result;

		compare(times, times, jitter, reps, options, &random, &runs, &result);
		nr += result.verdict == GATE_REGRESSION;
		gate_release(&result);
		runs_release(&runs);
	}
	return (double)nr / NR_COMPARED;
}

static bool names_planted(const struct gate_result *result)
{
	vec_for_each(&result->rows, row)
		if ((*row)->outcome == GATE_REGRESSED && (*row)->function &&
		    !strcmp((*row)->function->name, "f250"))
			return true;
	return false;
}

/* How often a function that grew from 4 % to 6 % of the time is named. */
static double power(double jitter, unsigned int reps)
{
	struct random random = {.state = 77 + reps};
	double base[NR_FUNCTIONS], head[NR_FUNCTIONS];
	unsigned int nr = 0;

	zipf(base);
	base[PLANTED] = 0;
	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		head[i] = base[i];
	/* the others together are 0.96 or so: what is left of 1 decides both shares */
	for (int side = 0; side < 2; side++) {
		double *times = side ? head : base, share = side ? 0.06 : 0.04, sum = 0;

		for (size_t i = 0; i < NR_FUNCTIONS; i++)
			sum += times[i];
		times[PLANTED] = sum * share / (1 - share);
	}
	for (int i = 0; i < NR_COMPARED; i++) {
		struct runs runs = {0};
		struct gate_result result;

		compare(base, head, jitter, reps, &gate_default_options, &random, &runs, &result);
		nr += names_planted(&result);
		gate_release(&result);
		runs_release(&runs);
	}
	return (double)nr / NR_COMPARED;
}

static void test_false_alarms(void **state)
{
	static const double jitters[] = {0, 0.05, 0.15};

	(void)state;
	for (unsigned int reps = 5; reps <= 10; reps += 5) {
		for (size_t i = 0; i < 3; i++) {
			double rate = false_alarms(jitters[i], reps, &gate_default_options);

			print_message("false alarms, %2u runs a side, jitter %2.0f %%: %.2f %%\n",
				      reps, 100 * jitters[i], 100 * rate);
			assert_true(rate <= 0.05);
		}
	}
}

/* Without the floors it is the test itself that must hold: nothing is left but p < 0.05. */
static void test_false_alarms_without_floors(void **state)
{
	static const double jitters[] = {0, 0.05, 0.15};
	struct gate_options options = gate_default_options;

	(void)state;
	options.max_growth = options.max_delta = 0;
	for (unsigned int reps = 5; reps <= 10; reps += 5) {
		for (size_t i = 0; i < 3; i++) {
			double rate = false_alarms(jitters[i], reps, &options);

			print_message("without floors, %2u runs a side, jitter %2.0f %%: %.2f %%\n",
				      reps, 100 * jitters[i], 100 * rate);
			/* 5 %, and three standard errors of 400 comparisons */
			assert_true(rate <= 0.05 + 3 * sqrt(0.05 * 0.95 / NR_COMPARED));
		}
	}
}

static void test_power(void **state)
{
	static const struct {
		double jitter, least;
		unsigned int reps;
	} cases[] = {{0, 0.9, 5}, {0.05, 0.9, 5}, {0, 0.9, 10}, {0.05, 0.9, 10}, {0.15, 0.2, 5}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double found = power(cases[i].jitter, cases[i].reps);

		print_message("4 %% -> 6 %% found, %2u runs a side, jitter %2.0f %%: %.1f %%\n",
			      cases[i].reps, 100 * cases[i].jitter, 100 * found);
		assert_true(found >= cases[i].least);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_false_alarms_without_floors),
		cmocka_unit_test(test_power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
