/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lives [COUNT [now]]: COUNT (300) blocks from each site: site_temporary frees each at once, site_short after 30 ms at
 * least, site_long after 1.1 s at least, site_kept never, site_grown by realloc.
 *
 * Says {"ready": PID} and waits for a line on stdin; {"temporary_within": [N, ...]}, how many blocks of site_temporary lived
 * for less than 100 us, 1 ms, 10 ms, 100 ms, 1 s and 10 s by its own clock; {"done": PID}, and waits for another line. With
 * `now` it waits for nothing.
 */
#include "workload.h"

#define MOST	10000
#define NR_AGES 6

static void *blocks[4][MOST];
static int count, within[NR_AGES];
static volatile size_t size = 200;

#define SITE(name)                                                   \
	static __attribute__((noinline)) void site_##name(void **at) \
	{                                                            \
		for (int i = 0; i < count; i++)                      \
			at[i] = malloc(size);                        \
	}

SITE(short)
SITE(long)
SITE(kept)

static __attribute__((noinline)) void site_temporary(void)
{
	for (int i = 0; i < count; i++) {
		double began = now_seconds(CLOCK_MONOTONIC), took, age = 1e-4;
		void *volatile block = malloc(size);

		free(block);
		took = now_seconds(CLOCK_MONOTONIC) - began;
		for (int at = 0; at < NR_AGES; at++, age *= 10)
			within[at] += took < age;
	}
}

static void say_within(void)
{
	printf("{\"temporary_within\": [");
	for (int at = 0; at < NR_AGES; at++)
		printf("%s%d", at ? ", " : "", within[at]);
	printf("]}\n");
	fflush(stdout);
}

static __attribute__((noinline)) void site_grown(void **at)
{
	for (int i = 0; i < count; i++)
		at[i] = realloc(malloc(size), 3 * size);
}

static void free_all(void **at)
{
	for (int i = 0; i < count; i++)
		free(at[i]);
}

int main(int argc, char **argv)
{
	bool wait = argc < 3;

	count = (int)number_arg(argc, argv, 1, 300);
	if (count > MOST)
		return 2;
	if (wait)
		wait_for_line("ready");
	site_long(blocks[0]);
	site_kept(blocks[1]);
	site_grown(blocks[2]);
	site_short(blocks[3]);
	site_temporary();
	usleep(30000);
	free_all(blocks[3]);
	usleep(1100000);
	free_all(blocks[0]);
	say_within();
	if (wait)
		wait_for_line("done");
	return 0;
}
