/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Simulated programs, compared by gate_check() as `cprof check` compares files. For a unit test, which
 * looks at a few comparisons of each, and for `make simulate-gate`, which prints a table of many.
 *
 * A program has 300 functions whose time falls off as 1/rank (Zipf), in a tree of calls, so that flat
 * and cumulative values are as entangled as in reality. A side has 12,000 samples, spread over its
 * runs. Runs jitter: in each, every function's time is multiplied by e^N(0, jitter) of its own, and the
 * whole run by e^N(0, 5 %), which is the machine. Seeds are fixed: the figures are the same each time.
 */
#ifndef CPROF_TESTS_GATE_SIMULATION_H
#define CPROF_TESTS_GATE_SIMULATION_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/verdict.h"

#define SIM_FUNCTIONS	 300
#define SIM_MOST	 (SIM_FUNCTIONS + 8) /* with those that a change adds */
#define SIM_NAMES	 1001		     /* what is renamed is 1000 */
#define SIM_SIDE_SAMPLES 12000
#define SIM_MACHINE_CV	 0.05
#define SIM_LEAF	 250 /* a leaf of the tree, whose weight and fate a scenario decides */
#define SIM_OTHER_LEAF	 251 /* with the same caller */

struct sim_random {
	uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood 2014) */
static inline double sim_uniform(struct sim_random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return ((z ^ z >> 31) >> 11) * 0x1p-53;
}

static inline double sim_normal(struct sim_random *random)
{
	return sqrt(-2 * log(1 - sim_uniform(random))) * cos(2 * M_PI * sim_uniform(random));
}

/* Small means by multiplication (Knuth), others by transformed rejection (Hoermann 1993, PTRS). */
static inline double sim_poisson(struct sim_random *random, double mean)
{
	double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
	double product = 1, least = mean < 10 ? exp(-mean) : 0;

	for (int nr = 0; mean < 10; nr++)
		if ((product *= 1 - sim_uniform(random)) <= least)
			return nr;
	for (;;) {
		double u = sim_uniform(random) - 0.5, v = 1 - sim_uniform(random);
		double us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + mean + 0.43);

		if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2))
			return k;
		if (k >= 0 && !(us < 0.013 && v > us) &&
		    log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b)) <=
			    k * log(mean) - mean - lgamma(k + 1))
			return k;
	}
}

struct sim_program {
	size_t nr;
	double times[SIM_MOST];	  /* of 1, which is a run of base */
	size_t parents[SIM_MOST]; /* of 1 and up */
	int names[SIM_MOST];
	bool is_moved; /* SIM_LEAF stands in another library's source file */
};

static inline size_t sim_add(struct sim_program *program, size_t parent, double time)
{
	size_t at = program->nr++;

	program->times[at] = time;
	program->parents[at] = parent;
	program->names[at] = at;
	return at;
}

/* SIM_LEAF has this share of the time, SIM_OTHER_LEAF that one, or what it has anyway (negative). */
static inline void sim_program_init(struct sim_program *program, double share, double other_share)
{
	double sum = 0;

	program->nr = 0;
	program->is_moved = false;
	for (size_t i = 0; i < SIM_FUNCTIONS; i++)
		sim_add(program, i ? (i - 1) / 4 : 0, 1 / (1.0 + (i * 37) % SIM_FUNCTIONS));
	program->times[SIM_LEAF] = 0;
	if (other_share >= 0)
		program->times[SIM_OTHER_LEAF] = 0;
	for (size_t i = 0; i < SIM_FUNCTIONS; i++)
		sum += program->times[i];
	for (size_t i = 0; i < SIM_FUNCTIONS; i++)
		program->times[i] *= (1 - share - fmax(0, other_share)) / sum;
	program->times[SIM_LEAF] = share;
	if (other_share >= 0)
		program->times[SIM_OTHER_LEAF] = other_share;
}

/* What a run is like, besides the program. */
struct sim_world {
	double jitter;
	unsigned int reps;
	bool neighbours; /* two of them, busy in three runs of ten, slow functions by up to 40 % each */
};

/* By how much the neighbours of this run slow a function down: by what it needs of the caches. */
static inline double sim_slowdown(const struct sim_world *world, const bool busy[2],
				  size_t function)
{
	double factor = 1;

	for (int i = 0; world->neighbours && i < 2; i++)
		if (busy[i])
			factor *= 1 + 0.4 * ((function * (31 + 6 * i)) % 101 / 100.);
	return factor;
}

/* Of the function with this number, which is less than SIM_NAMES. */
static inline const char *sim_name(int function)
{
	static char names[SIM_NAMES][8];

	if (!*names[function])
		snprintf(names[function], sizeof(names[function]), "f%d", function);
	return names[function];
}

static inline void sim_add_cells(struct runs *runs, struct run *run,
				 const struct sim_program *program, const double *flat,
				 const double *cum)
{
	uint32_t functions[SIM_MOST];

	for (size_t i = 0; i < program->nr; i++) {
		const char *source = program->is_moved && i == SIM_LEAF ? "other.c" : "here.c";

		functions[i] = runs_function(runs, sim_name(program->names[i]), source, 1);
		if (!(cum[i] > 0))
			continue;
		vec_push(&run->cells,
			 (struct run_cell){functions[i], flat[i], cum[i], flat[i], cum[i]});
		if (i)
			vec_push(&run->calls, (struct run_call){functions[program->parents[i]],
								functions[i], cum[i]});
	}
}

static inline void sim_add_run(struct runs *runs, enum run_side side,
			       const struct sim_program *program, const struct sim_world *world,
			       struct sim_random *random)
{
	double machine = exp(SIM_MACHINE_CV * sim_normal(random)), nr = 0;
	double flat[SIM_MOST] = {0}, cum[SIM_MOST],
	       samples = (double)SIM_SIDE_SAMPLES / world->reps;
	bool busy[] = {world->neighbours && sim_uniform(random) < 0.3,
		       world->neighbours && sim_uniform(random) < 0.3};
	struct run *run = runs_add(runs, "simulated", side);

	for (size_t i = 0; i < program->nr; i++) {
		double mean = samples * program->times[i] * machine *
			      sim_slowdown(world, busy, program->names[i]) *
			      exp(world->jitter * sim_normal(random));

		nr += flat[i] = mean > 0 ? sim_poisson(random, mean) : 0;
	}
	memcpy(cum, flat, sizeof(cum));
	/* callees have higher numbers than their callers */
	for (size_t i = program->nr - 1; i > 0; i--)
		cum[program->parents[i]] += cum[i];
	sim_add_cells(runs, run, program, flat, cum);
	run->total = run->total_variance = run->nr_samples = nr;
	run->content = (uint64_t)(sim_uniform(random) * 0x1p62) | 1;
}

/* The caller releases both. */
static inline void sim_compare(const struct sim_program *base, const struct sim_program *head,
			       const struct sim_world *world, const struct gate_options *options,
			       struct sim_random *random, struct runs *runs,
			       struct gate_result *result)
{
	for (unsigned int i = 0; i < world->reps; i++) {
		sim_add_run(runs, RUN_BASE, base, world, random);
		sim_add_run(runs, RUN_HEAD, head, world, random);
	}
	gate_check(runs, options, result);
}

/* Scenarios: what became of the program, without any of it being slower -------------------------- */

static inline void sim_same(struct sim_program *head)
{
	(void)head;
}

static inline void sim_improve_10(struct sim_program *head)
{
	head->times[SIM_LEAF] *= 0.90;
}

static inline void sim_improve_33(struct sim_program *head)
{
	head->times[SIM_LEAF] *= 0.67;
}

static inline void sim_improve_90(struct sim_program *head)
{
	head->times[SIM_LEAF] *= 0.10;
}

static inline void sim_remove(struct sim_program *head)
{
	head->times[SIM_LEAF] = 0;
}

static inline void sim_rename(struct sim_program *head)
{
	head->names[SIM_LEAF] = 1000;
}

/* Two new ones with the same caller, in its place. */
static inline void sim_split(struct sim_program *head)
{
	sim_add(head, head->parents[SIM_LEAF], head->times[SIM_LEAF] * 0.6);
	sim_add(head, head->parents[SIM_LEAF], head->times[SIM_LEAF] * 0.4);
	head->times[SIM_LEAF] = 0;
}

/* Its loop becomes a helper that it calls. */
static inline void sim_extract(struct sim_program *head)
{
	sim_add(head, SIM_LEAF, head->times[SIM_LEAF] * 0.9);
	head->times[SIM_LEAF] *= 0.1;
}

static inline void sim_merge(struct sim_program *head)
{
	sim_add(head, head->parents[SIM_LEAF], head->times[SIM_LEAF] + head->times[SIM_OTHER_LEAF]);
	head->times[SIM_LEAF] = head->times[SIM_OTHER_LEAF] = 0;
}

static inline void sim_inline(struct sim_program *head)
{
	head->times[head->parents[SIM_LEAF]] += head->times[SIM_LEAF];
	head->times[SIM_LEAF] = 0;
}

static inline void sim_move(struct sim_program *head)
{
	head->is_moved = true;
}

static inline void sim_rename_elsewhere(struct sim_program *head)
{
	head->names[SIM_LEAF] = 1000;
	head->parents[SIM_LEAF] = 5;
}

static inline void sim_halve(struct sim_program *head)
{
	for (size_t i = 0; i < head->nr; i++)
		head->times[i] /= 2;
}

static inline void sim_double(struct sim_program *head)
{
	for (size_t i = 0; i < head->nr; i++)
		head->times[i] *= 2;
}

struct sim_scenario {
	const char *name;
	void (*change)(struct sim_program *head);
	double share;	 /* of the function it happens to */
	bool neighbours; /* busy ones */
	bool other_work; /* --as share only: absolute values must tell */
};

static const struct sim_scenario sim_scenarios[] = {
	{"the same program", sim_same, 0.06, false, false},
	{"improved by 10 %", sim_improve_10, 0.20, false, false},
	{"improved by 33 %", sim_improve_33, 0.20, false, false},
	{"improved by 90 %", sim_improve_90, 0.20, false, false},
	{"removed", sim_remove, 0.20, false, false},
	{"renamed", sim_rename, 0.06, false, false},
	{"split in two", sim_split, 0.06, false, false},
	{"a helper extracted", sim_extract, 0.06, false, false},
	{"two merged", sim_merge, 0.06, false, false},
	{"inlined", sim_inline, 0.06, false, false},
	{"moved to another library", sim_move, 0.06, false, false},
	{"renamed, another caller", sim_rename_elsewhere, 0.06, false, false},
	{"half the work", sim_halve, 0.06, false, false},
	{"double the work", sim_double, 0.06, false, true},
	{"two busy neighbours", sim_same, 0.06, true, false},
};
#define SIM_NR_SCENARIOS (sizeof(sim_scenarios) / sizeof(sim_scenarios[0]))

/* How many of nr comparisons flag anything. */
static inline unsigned int sim_false_alarms(const struct sim_scenario *scenario,
					    const struct sim_world *world,
					    const struct gate_options *options, unsigned int nr)
{
	struct sim_random random = {.state = 1 + world->reps * 1000 + world->jitter * 100};
	struct sim_world here = *world;
	struct sim_program base, head;
	unsigned int nr_flagged = 0;

	here.neighbours = scenario->neighbours;
	sim_program_init(&base, scenario->share, scenario->share / 2);
	head = base;
	scenario->change(&head);
	for (unsigned int i = 0; i < nr; i++) {
		struct runs runs = {0};
		struct gate_result result;

		sim_compare(&base, &head, &here, options, &random, &runs, &result);
		nr_flagged += result.verdict != GATE_PASS;
		gate_release(&result);
		runs_release(&runs);
	}
	return nr_flagged;
}

static inline bool sim_names_leaf(const struct gate_result *result)
{
	const char *name = sim_name(SIM_LEAF);

	vec_for_each(&result->rows, row)
		if ((*row)->outcome == GATE_REGRESSED && (*row)->function &&
		    !strcmp((*row)->function->name, name))
			return true;
	return false;
}

/* How often a function that grew from 4 % to 6 % of the time is named. */
static inline unsigned int sim_found(const struct sim_world *world,
				     const struct gate_options *options, unsigned int nr)
{
	struct sim_random random = {.state = 77 + world->reps};
	struct sim_program base, head;
	unsigned int nr_found = 0;

	sim_program_init(&base, 0.04, -1);
	sim_program_init(&head, 0.06, -1);
	for (unsigned int i = 0; i < nr; i++) {
		struct runs runs = {0};
		struct gate_result result;

		sim_compare(&base, &head, world, options, &random, &runs, &result);
		nr_found += sim_names_leaf(&result);
		gate_release(&result);
		runs_release(&runs);
	}
	return nr_found;
}

#endif
