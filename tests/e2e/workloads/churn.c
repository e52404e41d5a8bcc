/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * churn SECONDS [THREADS]: threads that allocate blocks of thousands of sizes, keep 64 each and free
 * the oldest. Says {"ready": PID} and waits for a line on stdin first. For tests in which the maps
 * of the heap profiler are small.
 */
#include <pthread.h>

#include "workload.h"

#define KEPT 64

static double seconds;

static void *churn(void *arg)
{
	double end = now_seconds() + seconds;
	void *kept[KEPT] = {0};
	unsigned i = (unsigned)(uintptr_t)arg;

	for (; now_seconds() < end; i++) {
		free(kept[i % KEPT]);
		kept[i % KEPT] = malloc(1 + i * 7919 % 5000);
	}
	for (i = 0; i < KEPT; i++)
		free(kept[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	int nr = (int)number_arg(argc, argv, 2, 4);
	pthread_t threads[16];

	seconds = number_arg(argc, argv, 1, 2);
	if (nr > 16)
		nr = 16;
	wait_for_line("ready");
	for (int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)(i * 100000)) != 0)
			return 1;
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	printf("{\"cpu_seconds\": %.6f}\n", cpu_seconds(RUSAGE_SELF));
	return 0;
}
