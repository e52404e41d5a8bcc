/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * storm: allocates in all the ways of a process that have to do with how it is called:
 *
 *	site_thread	8 threads, one after another and at once, 1,000 x 64 bytes each; another thread frees half
 *	site_handler	a signal handler, 200 x 100 bytes, all of which are freed
 *	site_before	a constructor, before main, 10 x 1,000 bytes
 *	site_forked	a forked child, 20 x 2,000 bytes
 *	site_after	after a vfork, an exec that fails, and a library that was opened and closed, 30 x 3,000 bytes
 *
 * Says {"site_...": {"objects": N, "bytes": N, "live_objects": N, "live_bytes": N}, ...}.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "../workload.h"

#define NR_THREADS 8
#define PER_THREAD 1000
#define NR_SIGNALS 200
#define NR_BEFORE  10
#define NR_FORKED  20
#define NR_AFTER   30

static void *blocks[NR_THREADS][PER_THREAD];
static void *volatile last;

static void site_before(void)
{
	for (int i = 0; i < NR_BEFORE; i++)
		last = malloc(1000);
}

static void __attribute__((constructor)) before(void)
{
	site_before();
}

static void site_thread(void **own)
{
	for (int i = 0; i < PER_THREAD; i++)
		own[i] = malloc(64);
}

static void *thread(void *own)
{
	site_thread(own);
	return NULL;
}

static void free_half(void **own)
{
	for (int i = 0; i < PER_THREAD; i += 2)
		free(own[i]);
}

static void use_threads(void)
{
	pthread_t threads[NR_THREADS];

	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, blocks[i]))
			abort();
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		free_half(blocks[i]);
	}
}

static void site_handler(int number)
{
	(void)number;
	last = malloc(100);
	free(last);
}

static void site_forked(void)
{
	for (int i = 0; i < NR_FORKED; i++)
		last = malloc(2000);
}

static void use_processes(void)
{
	char *const argv[] = {"nothing", NULL};
	pid_t child = fork();

	if (!child) {
		site_forked();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	child = vfork();
	if (!child) {
		execv("/nothing", argv);
		_exit(1);
	}
	waitpid(child, NULL, 0);
}

static void site_after(void)
{
	for (int i = 0; i < NR_AFTER; i++)
		last = malloc(3000);
}

static void say(const char *site, int nr, int bytes_each, int nr_live, const char *end)
{
	printf("\"%s\": {\"objects\": %d, \"bytes\": %d, \"live_objects\": %d, \"live_bytes\": "
	       "%d}%s",
	       site, nr, nr * bytes_each, nr_live, nr_live * bytes_each, end);
}

int main(void)
{
	void *library;

	use_threads();
	signal(SIGUSR1, site_handler);
	for (int i = 0; i < NR_SIGNALS; i++)
		raise(SIGUSR1);
	use_processes();
	library = dlopen("libm.so.6", RTLD_NOW);
	if (library)
		dlclose(library);
	site_after();
	printf("{");
	say("site_thread", NR_THREADS * PER_THREAD, 64, NR_THREADS * PER_THREAD / 2, ", ");
	say("site_handler", NR_SIGNALS, 100, 0, ", ");
	say("site_before", NR_BEFORE, 1000, NR_BEFORE, ", ");
	say("site_forked", NR_FORKED, 2000, NR_FORKED, ", ");
	say("site_after", NR_AFTER, 3000, NR_AFTER, "}\n");
	return 0;
}
