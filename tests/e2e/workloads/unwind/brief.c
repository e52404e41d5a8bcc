/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A short life: argv[1] milliseconds of CPU in inner(). With argv[2]
 * there are so many KB of stack below them, half of which is never touched.
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

FRAME static void spread(double until, size_t bytes)
{
	volatile char *room = __builtin_alloca(bytes + 1);

	memset((char *)room, 1, bytes / 2);
	while (cpu_seconds() < until)
		middle();
	room[bytes] = 0;
}

int main(int argc, char **argv)
{
	double until = cpu_seconds() + number_arg(argc, argv, 1, 5) / 1000;

	if (argc > 2)
		spread(until, (size_t)number_arg(argc, argv, 2, 0) * 1024);
	while (cpu_seconds() < until)
		middle();
	return 0;
}
