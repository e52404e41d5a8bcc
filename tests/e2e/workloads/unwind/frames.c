/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of all kinds: 280 bytes, 100 KB, alloca (of another size each time), realigned to 64 bytes,
 * many arguments on the stack; then the work.
 */
#include <alloca.h>

#include "stacks.h"

FRAME static void bottom(void)
{
	WORK(5);
}

FRAME static int on_stack(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
	bottom();
	NOT_LAST();
	return a + b + c + d + e + f + g + h + i;
}

FRAME static void realigned(int n)
{
	volatile char room[128] __attribute__((aligned(64)));

	room[n % 100] = 1;
	on_stack(1, 2, 3, 4, 5, 6, n, 8, 9);
	room[0] = 2;
}

FRAME static void with_alloca(int n)
{
	volatile char *room = alloca((size_t)n % 5000 + 1);

	room[0] = 1;
	realigned(n);
	room[0] = 2;
}

FRAME static void of_100_kb(int n)
{
	volatile char room[100 * 1024];

	room[n % 100000] = 1;
	with_alloca(n);
	room[1] = 0;
}

FRAME static void of_280_bytes(int n)
{
	volatile char room[280];

	room[n % 280] = 1;
	of_100_kb(n);
	room[1] = 0;
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 2);
	int n = 0;

	while (cpu_seconds() < seconds)
		of_280_bytes(n += 37);
	return 0;
}
