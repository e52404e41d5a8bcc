/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange THREADS ROUNDS: threads that put blocks of 64 to 1,087 bytes into slots they all share, and
 * free what they find there: mostly what another thread allocated, whose address is handed out again
 * at once. Says {"ready": PID}, waits for a line; {"objects": N, "bytes": N, "live_objects": N,
 * "live_bytes": N} of the function `exchange`, waits for a line; frees the rest, says {"done": PID},
 * and waits for another.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "workload.h"

#define NR_SLOTS 256

static _Atomic(size_t *) slots[NR_SLOTS]; /* a block begins with its size */
static atomic_size_t nr_bytes;
static int nr_threads, nr_rounds;

static void *exchange(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg * 7919 + 1;
	size_t bytes = 0;

	for (int i = 0; i < nr_rounds; i++) {
		size_t size = 64 + (seed = seed * 1103515245 + 12345) / 65536 % 1024;
		size_t *block = malloc(size);

		if (!block)
			abort();
		*block = size;
		bytes += size;
		free(atomic_exchange(&slots[seed % NR_SLOTS], block));
	}
	nr_bytes += bytes;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	size_t live = 0, live_bytes = 0;

	nr_threads = (int)number_arg(argc, argv, 1, 16);
	nr_rounds = (int)number_arg(argc, argv, 2, 5000);
	wait_for_line("ready");
	for (int i = 0; i < nr_threads && i < 64; i++)
		if (pthread_create(&threads[i], NULL, exchange, (void *)(uintptr_t)i) != 0)
			return 1;
	for (int i = 0; i < nr_threads && i < 64; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < NR_SLOTS; i++) {
		live += slots[i] != NULL;
		live_bytes += slots[i] ? *slots[i] : 0;
	}
	printf("{\"objects\": %zu, \"bytes\": %zu, \"live_objects\": %zu, \"live_bytes\": %zu}\n",
	       (size_t)nr_threads * (size_t)nr_rounds, (size_t)nr_bytes, live, live_bytes);
	wait_for_line("full");
	for (int i = 0; i < NR_SLOTS; i++)
		free(slots[i]);
	wait_for_line("done");
	return 0;
}
