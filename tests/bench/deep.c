/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stack of known depth and nothing else: deep FRAMES [CPU_SECONDS].
 *
 * Built without frame pointers. All the time is spent FRAMES deep (_start, two of libc, main, then
 * calls of descend()). Without CPU_SECONDS until it is killed. With it: waits for a line, works for
 * so much CPU time, and says how many pieces of work it did, which shows what slows it down.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FRAMES_BELOW 4 /* _start, __libc_start_main, __libc_start_call_main, main */

static volatile unsigned long sink;
static double limit_seconds;

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* About 0.1 ms each. */
static unsigned long work(void)
{
	double end = cpu_seconds() + limit_seconds;
	unsigned long nr = 0;

	do {
		for (unsigned long i = 0; i < 100000; i++)
			sink += i;
		nr++;
	} while (!limit_seconds || cpu_seconds() < end);
	return nr;
}

__attribute__((noinline, noclone)) static unsigned long descend(int nr_frames)
{
	volatile char local[40]; /* so that frames are not all alike to the caches */
	unsigned long nr;

	local[nr_frames % 40] = 1;
	nr = nr_frames > 1 ? descend(nr_frames - 1) : work();
	return nr + local[nr_frames % 40] - 1;
}

int main(int argc, char **argv)
{
	int nr_frames = argc > 1 ? atoi(argv[1]) - FRAMES_BELOW : 1;
	unsigned long nr;

	if (argc > 2) {
		limit_seconds = atof(argv[2]);
		getchar();
	}
	nr = descend(nr_frames > 1 ? nr_frames : 1);
	printf("%lu\n", nr);
	return 0;
}
