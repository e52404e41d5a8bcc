// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the gate promises, and what it keeps: of so many simulated comparisons (tests/gate_simulation.h)
 * of programs that are no slower, how many are flagged, in percent; and how often one that is is named. Exit
 * code 1 if more are flagged than alpha allows.
 */
#include "../gate_simulation.h"

#define NR_COMPARED 400

static const double jitters[] = {0, 0.05, 0.15};

static bool print_false_alarms(const struct gate_options *options, const char *title)
{
	bool is_within = true;

	printf("\nfalse alarms, %s, %% of %d comparisons\n", title, NR_COMPARED);
	printf("%-26s %20s %20s\n", "runs a side", "5", "10");
	printf("%-26s %6s %6s %6s %6s %6s %6s\n", "jitter", "0 %", "5 %", "15 %", "0 %", "5 %",
	       "15 %");
	for (size_t i = 0; i < SIM_NR_SCENARIOS; i++) {
		if (sim_scenarios[i].other_work && !options->no_absolute)
			continue;
		printf("%-26s", sim_scenarios[i].name);
		for (unsigned int reps = 5; reps <= 10; reps += 5) {
			for (size_t j = 0; j < 3; j++) {
				struct sim_world world = {jitters[j], reps, false};
				unsigned int nr = sim_false_alarms(&sim_scenarios[i], &world,
								   options, NR_COMPARED);

				is_within &= nr <= options->alpha * NR_COMPARED;
				printf(" %6.2f", 100. / NR_COMPARED * nr);
				fflush(stdout);
			}
		}
		printf("\n");
	}
	return is_within;
}

int main(void)
{
	struct gate_options options = gate_default_options;
	bool is_within = print_false_alarms(&options, "--as both");

	options.no_absolute = true;
	is_within &= print_false_alarms(&options, "--as share");
	options = gate_default_options;
	options.max_growth = options.max_delta = 0;
	is_within &= print_false_alarms(&options, "--max-growth 0 --max-delta 0");
	printf("\n4 %% -> 6 %% named, %% of %d comparisons\n", NR_COMPARED);
	options = gate_default_options;
	for (unsigned int reps = 5; reps <= 10; reps += 5)
		for (size_t j = 0; j < 3; j++) {
			struct sim_world world = {jitters[j], reps, false};

			printf("%2u runs a side, jitter %2.0f %%: %.1f\n", reps, 100 * jitters[j],
			       100. / NR_COMPARED * sim_found(&world, &options, NR_COMPARED));
		}
	return !is_within;
}
