/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fixed PAIRS [SPINS]: pairs of malloc and free, with so many multiplications after each: the same work however long it
 * takes. Says {"cpu_seconds": N, "second_half": N}.
 */
#include "workload.h"

static void *volatile block;

static double work(long nr, unsigned int spins)
{
	double began = now_seconds(CLOCK_PROCESS_CPUTIME_ID);

	for (long i = 0; i < nr; i++) {
		block = malloc(64);
		free(block);
		SPIN(spins);
	}
	return now_seconds(CLOCK_PROCESS_CPUTIME_ID) - began;
}

int main(int argc, char **argv)
{
	long nr = (long)number_arg(argc, argv, 1, 1000000);
	unsigned int spins = (unsigned int)number_arg(argc, argv, 2, 1);
	double first = work(nr / 2, spins), second = work(nr / 2, spins);

	printf("{\"cpu_seconds\": %.6f, \"second_half\": %.6f}\n", first + second, second);
	return 0;
}
