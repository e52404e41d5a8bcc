/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The main() of workloads that have an allocator of their own: allocates 1000 bytes COUNT times (12000)
 * from site_malloc and site_calloc each. Says {"ready": PID} and waits for a line on stdin; allocates; says
 * {"site_malloc": COUNT, "site_calloc": COUNT}; waits for another line.
 */
#ifndef TWO_SITES_H
#define TWO_SITES_H

#include "workload.h"

static void *volatile kept;
static volatile size_t bytes = 1000;

static void __attribute__((noinline)) site_malloc(void)
{
	kept = malloc(bytes);
}

static void __attribute__((noinline)) site_calloc(void)
{
	kept = calloc(10, bytes / 10);
}

int main(int argc, char **argv)
{
	int count = (int)number_arg(argc, argv, 1, 12000);

	wait_for_line("ready");
	for (int i = 0; i < count; i++) {
		site_malloc();
		site_calloc();
	}
	printf("{\"site_malloc\": %d, \"site_calloc\": %d}\n", count, count);
	wait_for_line("done");
	return 0;
}

#endif
