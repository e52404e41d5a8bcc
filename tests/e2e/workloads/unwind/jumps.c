/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * setjmp in try_it(), and a longjmp to it out of 20 frames of dive(), as fast as it goes.
 */
#include <setjmp.h>

#include "stacks.h"

static jmp_buf point;

FRAME static void dive(int left)
{
	volatile char room[64];

	room[left] = 0;
	if (!left)
		longjmp(point, 1);
	dive(left - 1);
	room[0] = 1;
}

FRAME static void try_it(void)
{
	if (!setjmp(point))
		dive(20);
	NOT_LAST();
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 2);

	while (cpu_seconds() < seconds)
		for (int i = 0; i < 1000; i++)
			try_it();
	return 0;
}
