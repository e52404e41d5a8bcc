/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacks SECONDS: walks a tree of calls, left and right by the bits of a counter, so that it has
 * thousands of different stacks. For tests in which the aggregation map or the event ring is small. Says how many walks it made.
 */
#include "workload.h"

#define DEPTH 12

static void left(unsigned path, int depth);
static void right(unsigned path, int depth);

static void descend(unsigned path, int depth)
{
	if (depth == 0)
		WORK(1);
	else if (path & 1)
		left(path >> 1, depth - 1);
	else
		right(path >> 1, depth - 1);
}

static void left(unsigned path, int depth)
{
	descend(path, depth);
}

static void right(unsigned path, int depth)
{
	descend(path, depth);
}

int main(int argc, char **argv)
{
	double end = now_seconds(CLOCK_PROCESS_CPUTIME_ID) + number_arg(argc, argv, 1, 2);
	unsigned nr_walks = 0;

	/* An odd step visits every path. */
	for (; now_seconds(CLOCK_PROCESS_CPUTIME_ID) < end; nr_walks++)
		descend(nr_walks * 1237, DEPTH);
	printf("{\"cpu_seconds\": %.6f, \"walks\": %u}\n", cpu_seconds(RUSAGE_SELF), nr_walks);
	return 0;
}
