/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pairs [THREADS [COUNT [BYTES]]]: what a pair of malloc and free costs. Says {"ready": PID}; then, for
 * each line on stdin, its threads do COUNT pairs of BYTES twenty times, and it says the best of all:
 * {"pair_ns": N, "null_ns": N}, the latter for free(NULL). Ends with its input.
 */
#include <pthread.h>

#include "workload.h"

#define ROUNDS	    20
#define MAX_THREADS 16

static int count;
static volatile size_t bytes;
static void *(*volatile allocate)(size_t) = malloc;
static void (*volatile release)(void *) = free;

static void *measure(void *arg)
{
	double *best = arg;

	for (int round = 0; round < ROUNDS; round++) {
		double start = now_seconds(), each;

		for (int i = 0; i < count; i++)
			release(allocate(bytes));
		each = (now_seconds() - start) / count * 1e9;
		if (!round || each < *best)
			*best = each;
	}
	return NULL;
}

static double measure_null(void)
{
	double best = 1e12;

	for (int round = 0; round < ROUNDS; round++) {
		double start = now_seconds(), each;

		for (int i = 0; i < count; i++)
			release(NULL);
		each = (now_seconds() - start) / count * 1e9;
		if (each < best)
			best = each;
	}
	return best;
}

int main(int argc, char **argv)
{
	int nr_threads = (int)number_arg(argc, argv, 1, 1);
	char c;

	count = (int)number_arg(argc, argv, 2, 20000);
	bytes = (size_t)number_arg(argc, argv, 3, 64);
	if (nr_threads > MAX_THREADS)
		return 2;
	wait_for_line("ready");
	do {
		pthread_t threads[MAX_THREADS];
		double best[MAX_THREADS], worst = 0;

		for (int i = 0; i < nr_threads; i++)
			if (pthread_create(&threads[i], NULL, measure, &best[i]))
				abort();
		for (int i = 0; i < nr_threads; i++) {
			pthread_join(threads[i], NULL);
			worst = best[i] > worst ? best[i] : worst;
		}
		printf("{\"pair_ns\": %.1f, \"null_ns\": %.1f}\n", worst, measure_null());
		fflush(stdout);
	} while (read(STDIN_FILENO, &c, 1) == 1);
	return 0;
}
