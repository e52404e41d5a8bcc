/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaky SECONDS [KINDS]: a server of 5,000 requests a second, for SECONDS, and until it has leaked steadily: since the first
 * quarter of its time, and since its half, by twice what cprof demands of growth (record/leaktest.h). Where a busy machine holds
 * it up it does not catch up, since a burst is no steady growth, and goes on; but not for more than MOST_SECONDS. KINDS:
 * letters, what it does besides site_request, which allocates and
 * frees at once (all: lgbs):
 *
 *	l	site_leak allocates for each request and frees it at the end, but forgets one in EACH
 *	g	site_cache_grows keeps a block for each 12th request for ever
 *	b	site_cache_bounded keeps the last 750, in turn: full after 0.15 s
 *	s	site_start allocates 5,000 blocks at the start
 *	w	site_wave holds more and more for a second, then nothing, and so on
 *	t	two threads serve, each all of this (with l and g only)
 *
 * Says {"ready": PID} and waits for a line on stdin; serves; says what it did, and goes on until another line comes; says what
 * it did in all. With a third argument it waits for nothing, and says that once. What it did: {"requests": N, "quarter": N,
 * "half": N, "old": N, "steady": BOOL}: all of them, those in the first quarter of its time but half a second and those in the
 * first half, those until 1.5 s before, and if it served steadily.
 */
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "workload.h"

#define BATCH		50 /* requests each 10 ms */
#define EACH		250
#define PIECES_A_SECOND 8
#define MOST_SECONDS	200
#define NR_PIECES	((MOST_SECONDS + 400) * PIECES_A_SECOND)
#define BOUNDED		750
#define WAVE		500

static void *volatile kept;
static void *bounded[BOUNDED], *wave[WAVE];
static _Thread_local size_t nr_requests;
static size_t nr_wave;
static const char *kinds = "lgbs";
static double seconds, began;
static bool waits;
static int served[NR_PIECES]; /* in each piece of time */
static volatile size_t size_of_request = 500, size_of_leak = 100, size_of_entry = 400;

static __attribute__((noinline)) void site_request(void)
{
	void *volatile block = malloc(size_of_request);

	free(block);
}

static __attribute__((noinline)) void site_leak(void)
{
	void *volatile block = malloc(size_of_leak);

	if (nr_requests % EACH)
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

static int sum_of(int first, int limit)
{
	int sum = 0;

	for (int i = first; i < limit; i++)
		sum += __atomic_load_n(&served[i], __ATOMIC_RELAXED);
	return sum;
}

static int piece_now(void)
{
	return (int)((now_seconds(CLOCK_MONOTONIC) - began) * PIECES_A_SECOND);
}

/*
 * From the first to the last of so many whole pieces of time: joined, as cprof does it, until they are fewer than 64; what is
 * forgotten in each, in steps of whole blocks.
 */
static bool is_steady_since(int first, int nr)
{
	double sum = 0, squares = 0, last_half = 0, last_quarter = 0, mean, least;
	int width = 1, nr_joined, before;

	while (nr / width >= 64)
		width *= 2;
	nr_joined = (nr - first) / width;
	if (nr_joined < 8)
		return false;
	first = nr - nr_joined * width;
	before = sum_of(0, first);
	for (int i = 0; i < nr_joined; i++) {
		int after = before + sum_of(first + i * width, first + (i + 1) * width);
		double grown = after / EACH - before / EACH;

		before = after;
		sum += grown;
		squares += grown * grown;
		last_half += i >= nr_joined / 2 ? grown : 0;
		last_quarter += i >= nr_joined - nr_joined / 4 ? grown : 0;
	}
	mean = sum / nr_joined;
	least = 2 * (4 + 16.0 / nr_joined); /* standard errors */
	return mean > 0 && last_half >= sum / 3 && last_quarter >= sum / 8 &&
	       mean * mean * nr_joined * (nr_joined - 1) >= least * least * (squares - sum * mean);
}

static bool is_steady(int nr)
{
	return is_steady_since(nr / 4, nr) && is_steady_since(nr / 2, nr);
}

static void say_what_it_did(void)
{
	int nr = piece_now(), half_second = PIECES_A_SECOND / 2;

	printf("{\"requests\": %d, \"quarter\": %d, \"half\": %d, \"old\": %d, \"steady\": %s}\n",
	       sum_of(0, NR_PIECES), sum_of(0, nr / 4 - half_second),
	       sum_of(0, nr / 2 + half_second), sum_of(0, nr - 3 * half_second),
	       is_steady(nr) ? "true" : "false");
	fflush(stdout);
}

/* A line on stdin, or its end. */
static bool is_told(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, 0) > 0;
}

/* Is it to end, after so many whole pieces of time? */
static bool is_done(int nr)
{
	static bool is_said;

	if (is_said)
		return is_told();
	if (nr < seconds * PIECES_A_SECOND ||
	    (!is_steady(nr) && nr < MOST_SECONDS * PIECES_A_SECOND))
		return false;
	is_said = waits;
	if (waits)
		say_what_it_did();
	return !waits;
}

static void *run(void *arg)
{
	double next = now_seconds(CLOCK_MONOTONIC);

	for (int piece = 0; piece < NR_PIECES && !is_done(piece); piece = piece_now()) {
		double now = now_seconds(CLOCK_MONOTONIC);

		if (now < next)
			usleep((useconds_t)((next - now) * 1e6));
		else
			next = now;
		for (int i = 0; i < BATCH; i++)
			serve();
		__atomic_fetch_add(&served[piece], BATCH, __ATOMIC_RELAXED);
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
	double start = now_seconds(CLOCK_MONOTONIC);

	waits = argc < 4;
	seconds = number_arg(argc, argv, 1, 5);
	if (argc > 2)
		kinds = argv[2];
	if (waits)
		wait_for_line("ready");
	if (strchr(kinds, 's'))
		site_start();
	began = now_seconds(CLOCK_MONOTONIC);
	/* cprof halves the time since it watches, which may be longer: then its second half begins after our first quarter. */
	if (seconds < 2 * (began - start))
		seconds = 2 * (began - start);
	if (strchr(kinds, 't'))
		run_twice();
	else
		run(NULL);
	say_what_it_did();
	return 0;
}
