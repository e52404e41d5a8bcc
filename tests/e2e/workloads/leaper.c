/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaper [COUNT]: has an allocator of its own, whose malloc of 777 bytes never returns but leaps back to
 * main. Then main allocates 100 bytes, from a shallower stack, and all that COUNT times (1000).
 *
 * Says {"ready": PID} and waits for a line on stdin; says {"done": PID}, and waits for another line.
 */
#include <setjmp.h>

#include "pool.h"
#include "workload.h"

static jmp_buf back;
static void *volatile kept;
static volatile size_t leaping = 777, staying = 100;

void *malloc(size_t size)
{
	if (size == leaping)
		longjmp(back, 1);
	return pool_take(size);
}

static void site_leaps(void)
{
	volatile char deeper[256];

	deeper[0] = 0;
	kept = malloc(leaping);
	deeper[1] = deeper[0];
}

static void site_stays(void)
{
	kept = malloc(staying);
}

int main(int argc, char **argv)
{
	volatile int count = (int)number_arg(argc, argv, 1, 1000);

	wait_for_line("ready");
	for (volatile int i = 0; i < count; i++) {
		if (!setjmp(back))
			site_leaps();
		site_stays();
	}
	wait_for_line("done");
	return 0;
}
