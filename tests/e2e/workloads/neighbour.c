/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * neighbour SECONDS BLOCKS: an innocent program. Spends SECONDS of CPU time in neighbour_spins, and allocates meanwhile,
 * at a steady pace, BLOCKS blocks of 4,096 bytes from neighbour_allocates, each freed at once. Waits for a line on stdin
 * first. Says {"ready": PID}, and at the end {"cpu_seconds": N, "switches": N, "objects": BLOCKS}.
 */
#include "workload.h"

#define STEPS_PER_SECOND 1000

static void *volatile kept;

static void neighbour_allocates(long nr)
{
	while (nr--) {
		kept = malloc(4096);
		free(kept);
	}
}

static void neighbour_spins(double until)
{
	do
		SPIN(UNIT / 10);
	while (now_seconds(CLOCK_PROCESS_CPUTIME_ID) < until);
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 1);
	long nr_blocks = (long)number_arg(argc, argv, 2, 0), nr_done = 0;
	long nr_steps = (long)(seconds * STEPS_PER_SECOND);

	wait_for_line("ready");
	for (long i = 1; i <= nr_steps; i++) {
		long nr = nr_blocks * i / nr_steps;

		neighbour_allocates(nr - nr_done);
		nr_done = nr;
		neighbour_spins(i / (double)STEPS_PER_SECOND);
	}
	printf("{\"cpu_seconds\": %.6f, \"switches\": %ld, \"objects\": %ld}\n",
	       cpu_seconds(RUSAGE_SELF), switches(RUSAGE_SELF), nr_done);
	return 0;
}
