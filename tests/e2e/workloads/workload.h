/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the workloads share. A workload is a small program whose profile is known in advance; it says
 * on stdout, one JSON object a line, what it really did (CPU seconds, allocations), so that a test
 * compares a profile with the target's own account and never with a figure from another machine.
 *
 * The unit of work is a chain of multiplications, each of which waits for the one before: how fast
 * that goes depends on the processor, but not on the alignment of the loop, so that twice the units
 * are twice the time wherever the linker puts them.
 *
 * A workload is busy for so many seconds of CPU time, not of the clock: on a busy machine it takes longer
 * and does the same.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* About 0.1 ms here. */
#define UNIT 100000u

/*
 * In the function that says it, not in one of its own: the profile shall show that one as the leaf.
 * Asking for the frame's address makes gcc keep a frame pointer, which it spares itself in a function
 * that calls no other, whatever the options; the caller would be missing from the stacks.
 */
#define SPIN(times)                                                       \
	do {                                                              \
		uint64_t spin_x_ = 1;                                     \
		__asm__ volatile("" : : "r"(__builtin_frame_address(0))); \
		for (unsigned spin_i_ = (times); spin_i_; spin_i_--) {    \
			spin_x_ = spin_x_ * 6364136223846793005u + 1;     \
			__asm__ volatile("" : "+r"(spin_x_));             \
		}                                                         \
	} while (0)
#define WORK(units) SPIN((units)*UNIT)

/* By CLOCK_MONOTONIC, or what this process (CLOCK_PROCESS_CPUTIME_ID) or thread has used of a CPU. */
static inline double now_seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* CPU seconds, user and system, of RUSAGE_SELF or RUSAGE_CHILDREN. */
static inline double cpu_seconds(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* How often RUSAGE_SELF, _THREAD or _CHILDREN left a CPU: one more is how often it came to one. */
static inline long switches(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* argv[i] as a number, or what it is when not given. */
static inline double number_arg(int argc, char **argv, int i, double otherwise)
{
	return argc > i ? atof(argv[i]) : otherwise;
}

/* Says that the workload is there, and waits until a line (or the end) comes on stdin. */
static inline void wait_for_line(const char *what)
{
	char c;

	printf("{\"%s\": %d}\n", what, (int)getpid());
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		;
}

#endif
