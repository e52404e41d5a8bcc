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

/* A piece of arithmetic in the function that says it; a unit is about 50 us. */
#define SPIN(times)                                                        \
	do {                                                               \
		uint64_t spin_x_ = 1;                                      \
		for (unsigned int spin_i_ = (times); spin_i_; spin_i_--) { \
			spin_x_ = spin_x_ * 6364136223846793005u + 1;      \
			__asm__ volatile("" : "+r"(spin_x_));              \
		}                                                          \
	} while (0)
#define WORK(units) SPIN((units)*50000u)

/* Varies the number of repetitions, so that a profiler's ticks do not keep step with alternating work. */
static inline unsigned int uneven(unsigned int times)
{
	static unsigned int random;

	random = random * 1103515245 + 12345;
	return times / 2 + random / 65536 % times;
}

static inline double number_arg(int argc, char **argv, int i, double otherwise)
{
	return argc > i ? atof(argv[i]) : otherwise;
}

#endif
