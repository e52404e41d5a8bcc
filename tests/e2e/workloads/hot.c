/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hot SECONDS: hot_a does exactly twice the work of hot_b. Says the CPU seconds it took.
 *
 * A round is short, and each takes another time: whatever a profiler's period is, its ticks do not keep
 * step with the rounds. Where in a loop they come is the processor's choice; so each function has several
 * loops, one after another, and ticks must come to more than one address.
 */
#include "workload.h"

#define SHORTEST 4096 /* times; about 4 us */

static void hot_a(unsigned times)
{
	SPIN(times / 2);
	SPIN(times / 2);
	SPIN(times / 2);
	SPIN(times / 2);
}

static void hot_b(unsigned times)
{
	SPIN(times / 2);
	SPIN(times / 2);
}

static void hot(double seconds)
{
	double end = now_seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds;
	unsigned random = 1;

	while (now_seconds(CLOCK_PROCESS_CPUTIME_ID) < end) {
		for (int i = 0; i < 32; i++) {
			unsigned times;

			random = random * 1103515245 + 12345;
			times = SHORTEST + random / 65536 % (2 * SHORTEST);
			hot_a(times);
			hot_b(times);
		}
	}
}

int main(int argc, char **argv)
{
	hot(number_arg(argc, argv, 1, 2));
	printf("{\"cpu_seconds\": %.6f, \"switches\": %ld}\n", cpu_seconds(RUSAGE_SELF),
	       switches(RUSAGE_SELF));
	return 0;
}
