// SPDX-License-Identifier: BSD-2-Clause
/*
 * Does the gate keep what it promises? Simulated programs (tests/gate_simulation.h): how often does it
 * flag one that is no slower, whatever else became of it, and how often does it find a function that
 * went from 4 % of the time to 6 %? 400 comparisons of each, with fixed seeds; `make simulate-gate` does them
 * with 10 runs a side, too, and prints the table.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "../gate_simulation.h"

#define NR_COMPARED 400

static void assert_quiet(const struct gate_options *options, double jitter)
{
	struct sim_world world = {.jitter = jitter, .reps = 5};

	for (size_t i = 0; i < SIM_NR_SCENARIOS; i++) {
		const struct sim_scenario *scenario = &sim_scenarios[i];
		unsigned int nr;

		if (scenario->other_work && !options->no_absolute)
			continue;
		nr = sim_false_alarms(scenario, &world, options, NR_COMPARED);
		print_message("%s, jitter %.0f %%: %u of %d\n", scenario->name, 100 * jitter, nr,
			      NR_COMPARED);
		assert_true(nr <= options->alpha * NR_COMPARED);
	}
}

static void test_false_alarms(void **state)
{
	(void)state;
	assert_quiet(&gate_default_options, 0.05);
	assert_quiet(&gate_default_options, 0.15);
}

static void test_false_alarms_of_shares(void **state)
{
	struct gate_options options = gate_default_options;

	(void)state;
	options.no_absolute = true;
	assert_quiet(&options, 0.05);
}

/* Without the floors it is the test itself that must hold: nothing is left but p < 0.05. */
static void test_false_alarms_without_floors(void **state)
{
	static const double jitters[] = {0, 0.05, 0.15};
	struct gate_options options = gate_default_options;

	(void)state;
	options.max_growth = options.max_delta = 0;
	for (size_t i = 0; i < 3; i++) {
		struct sim_world world = {.jitter = jitters[i], .reps = 5};

		assert_true(sim_false_alarms(&sim_scenarios[0], &world, &options, NR_COMPARED) <=
			    options.alpha * NR_COMPARED);
	}
}

static void test_power(void **state)
{
	static const struct {
		double jitter, least;
	} cases[] = {
		{0, 0.965}, {0.05, 0.92}, {0.15, 0.29}}; /* as measured before moves were known */

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_world world = {.jitter = cases[i].jitter, .reps = 5};
		unsigned int nr = sim_found(&world, &gate_default_options, NR_COMPARED);

		print_message("4 %% -> 6 %% named, jitter %.0f %%: %u of %d\n",
			      100 * cases[i].jitter, nr, NR_COMPARED);
		assert_true(nr >= cases[i].least * NR_COMPARED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_false_alarms_of_shares),
		cmocka_unit_test(test_false_alarms_without_floors),
		cmocka_unit_test(test_power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
