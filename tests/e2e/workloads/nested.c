/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nested [COUNT]: three threads that allocate 1000 bytes COUNT times (4000) from each of several sites,
 * through functions that end in, or call, another function of the allocator. Nothing is freed.
 *
 * Says {"ready": PID} and waits for a line on stdin; allocates; says {"site_...": COUNT of all threads,
 * ...}; waits for another line.
 */
#include <malloc.h>
#include <pthread.h>

#include "workload.h"

#define NR_THREADS 3
#define BYTES	   1000

static int count;
static volatile size_t bytes = BYTES;
static void *volatile kept; /* no call may be left out */

static void site_malloc(void)
{
	kept = malloc(bytes);
}

static void site_calloc(void)
{
	kept = calloc(10, bytes / 10);
}

static void site_realloc(void)
{
	kept = realloc(NULL, bytes);
}

static void site_reallocarray(void)
{
	kept = reallocarray(NULL, 10, bytes / 10);
}

static void site_posix_memalign(void)
{
	void *block = NULL;

	if (posix_memalign(&block, 16, bytes))
		abort();
	kept = block;
}

static void site_aligned_alloc(void)
{
	kept = aligned_alloc(8, bytes);
}

static void site_memalign(void)
{
	kept = memalign(16, bytes);
}

static void site_valloc(void)
{
	kept = valloc(bytes);
}

static void *run(void *arg)
{
	for (int i = 0; i < count; i++) {
		site_malloc();
		site_calloc();
		site_realloc();
		site_reallocarray();
		site_posix_memalign();
		site_aligned_alloc();
		site_memalign();
		site_valloc();
	}
	return arg;
}

int main(int argc, char **argv)
{
	static const char *const sites[] = {"malloc",	    "calloc",	      "realloc",
					    "reallocarray", "posix_memalign", "aligned_alloc",
					    "memalign",	    "valloc"};
	pthread_t threads[NR_THREADS];

	count = (int)number_arg(argc, argv, 1, 4000);
	wait_for_line("ready");
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			abort();
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++)
		printf("%s\"site_%s\": %d", i ? ", " : "{", sites[i], count * NR_THREADS);
	printf("}\n");
	wait_for_line("done");
	return 0;
}
