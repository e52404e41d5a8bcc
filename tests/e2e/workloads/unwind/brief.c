/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A short life: argv[1] milliseconds of CPU in inner(), counted from the process's start.
 */
#include "stacks.h"

FRAME static void inner(void)
{
	WORK(1);
}

FRAME static void middle(void)
{
	volatile char room[123];

	room[5] = 0;
	inner();
	room[6] = 0;
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 5) / 1000;

	while (cpu_seconds() < seconds)
		middle();
	return 0;
}
