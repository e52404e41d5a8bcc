/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fixed PAIRS [SPINS [LINE]]: pairs of malloc and free, with so many multiplications after each: the same work however long it
 * takes. With LINE it says {"ready": PID} and waits for a line first, and at the end. Says {"cpu_seconds": N}.
 */
#include "workload.h"

static void *volatile block;

int main(int argc, char **argv)
{
	long nr = (long)number_arg(argc, argv, 1, 1000000);
	unsigned int spins = (unsigned int)number_arg(argc, argv, 2, 0);
	double began;

	if (argc > 3)
		wait_for_line("ready");
	began = now_seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (long i = 0; i < nr; i++) {
		block = malloc(64);
		free(block);
		SPIN(spins);
	}
	printf("{\"cpu_seconds\": %.6f}\n", now_seconds(CLOCK_PROCESS_CPUTIME_ID) - began);
	fflush(stdout);
	if (argc > 3)
		wait_for_line("done");
	return 0;
}
