/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pairs [THREADS [COUNT [BYTES]]]: what malloc and free cost. Says {"ready": PID}; then, for each line on
 * stdin, its threads do COUNT pairs of BYTES each, some times over, and it says the best time of the
 * slowest thread, and of one thread that allocates many blocks before it frees them, or frees NULL:
 * {"pair_ns": N, "malloc_ns": N, "free_ns": N, "null_ns": N}. Ends with its input.
 */
#include <pthread.h>

#include "workload.h"

#define ROUNDS	    20
#define MAX_THREADS 16
#define BATCH	    1000

static int count;
static volatile size_t bytes;
static void *(*volatile allocate)(size_t) = malloc;
static void (*volatile release)(void *) = free;

static void *measure(void *arg)
{
	double *best = arg;

	for (int round = 0; round < ROUNDS; round++) {
		double start = now_seconds(CLOCK_MONOTONIC), each;

		for (int i = 0; i < count; i++)
			release(allocate(bytes));
		each = (now_seconds(CLOCK_MONOTONIC) - start) / count * 1e9;
		if (!round || each < *best)
			*best = each;
	}
	return NULL;
}

static void keep_best(double *best, double start, int nr)
{
	double each = (now_seconds(CLOCK_MONOTONIC) - start) / nr * 1e9;

	if (each < *best)
		*best = each;
}

struct apart {
	double malloc_ns, free_ns, null_ns;
};

static struct apart measure_apart(void)
{
	static void *blocks[BATCH];
	struct apart best = {1e12, 1e12, 1e12};

	for (int round = 0; round < ROUNDS; round++) {
		double start = now_seconds(CLOCK_MONOTONIC);

		for (int i = 0; i < BATCH; i++)
			blocks[i] = allocate(bytes);
		keep_best(&best.malloc_ns, start, BATCH);
		start = now_seconds(CLOCK_MONOTONIC);
		for (int i = 0; i < BATCH; i++)
			release(blocks[i]);
		keep_best(&best.free_ns, start, BATCH);
		start = now_seconds(CLOCK_MONOTONIC);
		for (int i = 0; i < BATCH; i++)
			release(NULL);
		keep_best(&best.null_ns, start, BATCH);
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
		struct apart apart;

		for (int i = 0; i < nr_threads; i++)
			if (pthread_create(&threads[i], NULL, measure, &best[i]))
				abort();
		for (int i = 0; i < nr_threads; i++) {
			pthread_join(threads[i], NULL);
			worst = best[i] > worst ? best[i] : worst;
		}
		apart = measure_apart();
		printf("{\"pair_ns\": %.1f, \"malloc_ns\": %.1f, \"free_ns\": %.1f, "
		       "\"null_ns\": %.1f}\n",
		       worst, apart.malloc_ns, apart.free_ns, apart.null_ns);
		fflush(stdout);
	} while (read(STDIN_FILENO, &c, 1) == 1);
	return 0;
}
