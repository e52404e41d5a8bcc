/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alarmed [ROUNDS]: four threads that allocate, resize, check and free, while the first one sends each of
 * them 100 signals, and a timer interrupts the thread that runs. Says on stdout what the threads found in their
 * blocks and how many of the signals arrived, on stderr that it is over, and exits with 3: all the same
 * whenever and wherever it is interrupted.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>

#include "workload.h"

#define NR_THREADS 4
#define NR_SIGNALS 100

static atomic_uint nr_signals;
static atomic_bool is_over;
static int nr_rounds;

static void on_signal(int number)
{
	int saved = errno;

	if (number == SIGUSR1)
		nr_signals++;
	errno = saved;
}

static uint64_t churn(unsigned seed)
{
	unsigned char *kept[32] = {0};
	size_t sizes[32] = {0};
	uint64_t sum = 0;

	for (int i = 0; i < nr_rounds; i++) {
		unsigned slot = (seed = seed * 1103515245 + 12345) / 65536 % 32;
		size_t size = seed / 97 % 3000 + 1;

		for (size_t at = 0; at < sizes[slot]; at += 61)
			sum = sum * 31 + kept[slot][at];
		kept[slot] = realloc(kept[slot], size);
		if (!kept[slot])
			abort();
		memset(kept[slot], (int)(seed & 255), size);
		sizes[slot] = size;
	}
	for (int i = 0; i < 32; i++)
		free(kept[i]);
	return sum;
}

static void *run(void *arg)
{
	uint64_t *sum = arg;

	*sum = churn((unsigned)*sum);
	while (!is_over)
		usleep(100);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval each_ms = {{0, 1000}, {0, 1000}};
	pthread_t threads[NR_THREADS];
	uint64_t sums[NR_THREADS];

	nr_rounds = (int)number_arg(argc, argv, 1, 1500);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &each_ms, NULL);
	for (int i = 0; i < NR_THREADS; i++) {
		sums[i] = (uint64_t)i + 1;
		if (pthread_create(&threads[i], NULL, run, &sums[i]) != 0)
			return 1;
	}
	/* The next one only when this has arrived: a signal that is pending is not sent twice. */
	for (unsigned i = 0; i < NR_SIGNALS * NR_THREADS; i++) {
		pthread_kill(threads[i % NR_THREADS], SIGUSR1);
		while (nr_signals <= i)
			sched_yield();
	}
	is_over = true;
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < NR_THREADS; i++)
		printf("%d %016llx\n", i, (unsigned long long)sums[i]);
	printf("%u signals\n", nr_signals);
	fprintf(stderr, "over\n");
	return 3;
}
