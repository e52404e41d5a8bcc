/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * churn SECONDS [THREADS]: threads that allocate blocks of thousands of sizes, keep 64 each and free
 * the oldest, each for so many seconds of CPU time; with SECONDS of 0, until another line comes. Says
 * {"ready": PID} and waits for a line on stdin first. For tests in which the maps of the heap profiler
 * are small.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "workload.h"

#define KEPT 64

static double seconds;
static atomic_bool is_over;

static bool goes_on(double end)
{
	return seconds > 0 ? now_seconds(CLOCK_THREAD_CPUTIME_ID) < end : !is_over;
}

static void *churn(void *arg)
{
	double end = now_seconds(CLOCK_THREAD_CPUTIME_ID) + seconds;
	void *kept[KEPT] = {0};
	unsigned i = (unsigned)(uintptr_t)arg;

	while (goes_on(end)) {
		for (unsigned round = 0; round < KEPT; round++, i++) {
			free(kept[i % KEPT]);
			kept[i % KEPT] = malloc(1 + i * 7919 % 5000);
		}
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
	if (seconds <= 0)
		wait_for_line("busy");
	is_over = true;
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	printf("{\"cpu_seconds\": %.6f}\n", cpu_seconds(RUSAGE_SELF));
	return 0;
}
