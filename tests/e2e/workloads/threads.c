/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads SECONDS: two threads, named worker_a and worker_b, each busy in a function of its own.
 * Says the CPU seconds of the process and of either thread, and how often they left a CPU.
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "workload.h"

struct worker {
	const char *name;
	void (*spin)(void);
	double seconds;
	double cpu_seconds;
	long switches;
	int tid;
};

static void spin_a(void)
{
	WORK(1);
}

static void spin_b(void)
{
	WORK(1);
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	double end = now_seconds(CLOCK_THREAD_CPUTIME_ID) + worker->seconds;

	pthread_setname_np(pthread_self(), worker->name);
	worker->tid = (int)syscall(SYS_gettid);
	while (now_seconds(CLOCK_THREAD_CPUTIME_ID) < end)
		worker->spin();
	worker->cpu_seconds = cpu_seconds(RUSAGE_THREAD);
	worker->switches = switches(RUSAGE_THREAD);
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 2);
	struct worker workers[] = {{"worker_a", spin_a, seconds, 0, 0, 0},
				   {"worker_b", spin_b, seconds, 0, 0, 0}};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, worker_main, &workers[i]) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("{\"cpu_seconds\": %.6f, \"switches\": %ld", cpu_seconds(RUSAGE_SELF),
	       switches(RUSAGE_SELF));
	for (int i = 0; i < 2; i++)
		printf(", \"%s\": {\"tid\": %d, \"cpu_seconds\": %.6f, \"switches\": %ld}",
		       workers[i].name, workers[i].tid, workers[i].cpu_seconds,
		       workers[i].switches);
	printf("}\n");
	return 0;
}
