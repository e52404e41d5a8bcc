/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaky SECONDS [KINDS]: a server of 5,000 requests a second, for SECONDS. Where a busy machine holds it up it ends later: it
 * does not catch up, since a burst is no steady growth. KINDS: letters, what it does besides site_request, which allocates and
 * frees at once (all: lgbs):
 *
 *	l	site_leak allocates for each request and frees it at the end, but forgets one in 250
 *	g	site_cache_grows keeps a block for each 12th request for ever
 *	b	site_cache_bounded keeps the last 750, in turn: full after 0.15 s
 *	s	site_start allocates 5,000 blocks at the start
 *	w	site_wave holds more and more for a second, then nothing, and so on
 *	t	two threads serve, each all of this (with l and g only)
 *
 * Says {"ready": PID} and waits for a line on stdin; serves; says {"done": PID}, and waits for another line. With a third
 * argument it waits for nothing.
 */
#include <pthread.h>
#include <string.h>

#include "workload.h"

#define BATCH	50 /* requests each 10 ms */
#define BOUNDED 750
#define WAVE	500

static void *volatile kept;
static void *bounded[BOUNDED], *wave[WAVE];
static _Thread_local size_t nr_requests;
static size_t nr_wave;
static const char *kinds = "lgbs";
static double seconds;
static volatile size_t size_of_request = 500, size_of_leak = 100, size_of_entry = 400;

static __attribute__((noinline)) void site_request(void)
{
	void *volatile block = malloc(size_of_request);

	free(block);
}

static __attribute__((noinline)) void site_leak(void)
{
	void *volatile block = malloc(size_of_leak);

	if (nr_requests % 250)
		free(block);
	else
		kept = block;
}

static __attribute__((noinline)) void site_cache_grows(void)
{
	if (nr_requests % 12 == 0)
		kept = malloc(size_of_entry);
}

static __attribute__((noinline)) void site_cache_bounded(void)
{
	void **entry = &bounded[nr_requests % BOUNDED];

	free(*entry);
	*entry = malloc(size_of_entry);
}

static __attribute__((noinline)) void site_start(void)
{
	for (int i = 0; i < 5000; i++)
		kept = malloc(size_of_entry);
}

static __attribute__((noinline)) void site_wave(void)
{
	if (nr_requests % 10)
		return;
	if (nr_wave == WAVE)
		while (nr_wave)
			free(wave[--nr_wave]);
	wave[nr_wave++] = malloc(size_of_entry);
}

static __attribute__((noinline)) void serve(void)
{
	nr_requests++;
	site_request();
	if (strchr(kinds, 'l'))
		site_leak();
	if (strchr(kinds, 'g'))
		site_cache_grows();
	if (strchr(kinds, 'b'))
		site_cache_bounded();
	if (strchr(kinds, 'w'))
		site_wave();
}

static void *run(void *arg)
{
	double next = now_seconds(CLOCK_MONOTONIC);

	for (int done = 0; done < seconds * 100; done++) {
		double now = now_seconds(CLOCK_MONOTONIC);

		if (now < next)
			usleep((useconds_t)((next - now) * 1e6));
		else
			next = now;
		for (int i = 0; i < BATCH; i++)
			serve();
		next += 0.01;
	}
	return arg;
}

static void run_twice(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			exit(1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	bool wait = argc < 4;

	seconds = number_arg(argc, argv, 1, 5);
	if (argc > 2)
		kinds = argv[2];
	if (wait)
		wait_for_line("ready");
	if (strchr(kinds, 's'))
		site_start();
	if (strchr(kinds, 't'))
		run_twice();
	else
		run(NULL);
	if (wait)
		wait_for_line("done");
	return 0;
}
