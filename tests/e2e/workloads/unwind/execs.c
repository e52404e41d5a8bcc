/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Spins in first_image(), then becomes argv[1] with argv[2...].
 */
#include "stacks.h"

FRAME static void first_image(void)
{
	WORK(5);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	while (cpu_seconds() < 0.5)
		first_image();
	execv(argv[1], argv + 1);
	return 1;
}
