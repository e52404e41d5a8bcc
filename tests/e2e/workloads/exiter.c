/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exiter SECONDS [CODE]: busy for SECONDS in busy_until_the_end, then exits with CODE (0). Says what CPU time it used, and
 * how often it left a CPU.
 */
#include "workload.h"

static void busy_until_the_end(double seconds)
{
	double end = now_seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds;

	while (now_seconds(CLOCK_PROCESS_CPUTIME_ID) < end)
		WORK(1);
}

int main(int argc, char **argv)
{
	busy_until_the_end(number_arg(argc, argv, 1, 1));
	printf("{\"cpu_seconds\": %.6f, \"switches\": %ld}\n", cpu_seconds(RUSAGE_SELF),
	       switches(RUSAGE_SELF));
	return (int)number_arg(argc, argv, 2, 0);
}
