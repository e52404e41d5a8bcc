/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the unwind workloads share. They are compiled by tests/e2e/unwinding.py with the flags of
 * their first line, without frame pointers: the stacks can only be walked by unwind tables.
 */
#ifndef STACKS_H
#define STACKS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A function that is a frame of its own: neither inlined, nor cloned, nor known to its callers. */
#define FRAME __attribute__((noipa))

/* After a call: keeps it from being a tail call, which leaves no frame behind. */
#define NOT_LAST() __asm__ volatile("" ::: "memory")

static inline double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* About 50 us of arithmetic in the function that says it. */
#define WORK(units)                                                               \
	do {                                                                      \
		uint64_t work_x_ = 1;                                             \
		for (unsigned int work_i_ = (units)*50000u; work_i_; work_i_--) { \
			work_x_ = work_x_ * 6364136223846793005u + 1;             \
			__asm__ volatile("" : "+r"(work_x_));                     \
		}                                                                 \
	} while (0)

static inline double number_arg(int argc, char **argv, int i, double otherwise)
{
	return argc > i ? atof(argv[i]) : otherwise;
}

#endif
