/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * argv[2] frames of one, two, three, one, ... on top of each other; the work is in bottom(). With argv[3]
 * it is done at so many depths, each of them 303 frames above the one before.
 */
#include "stacks.h"

FRAME static void one(unsigned int left);
FRAME static void two(unsigned int left);
FRAME static void three(unsigned int left);

FRAME static void bottom(void)
{
	WORK(20);
}

static void go_on(void (*next)(unsigned int), unsigned int left)
{
	if (left > 1)
		next(left - 1);
	else
		bottom();
	NOT_LAST();
}

FRAME static void one(unsigned int left)
{
	go_on(two, left);
}

FRAME static void two(unsigned int left)
{
	volatile char room[200];

	room[left % 200] = 1;
	go_on(three, left);
	room[1] = 0;
}

FRAME static void three(unsigned int left)
{
	volatile uint64_t a = left;

	go_on(one, left);
	a++;
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 2);
	unsigned int depth = (unsigned int)number_arg(argc, argv, 2, 400);
	unsigned int nr_depths = (unsigned int)number_arg(argc, argv, 3, 1);

	for (unsigned int i = 0; cpu_seconds() < seconds; i++)
		one(depth + i % nr_depths * 303);
	return 0;
}
