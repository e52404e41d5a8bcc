/* CFLAGS: -O2 -fomit-frame-pointer -fno-builtin -fplt -fcf-protection=none -Wl,-z,lazy */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Short calls only: through the PLT (bound lazily) and into the vdso.
 */
#include <ctype.h>

#include "stacks.h"

FRAME static int through_plt(void)
{
	int sum = 0;

	for (int i = 0; i < 100000; i++)
		sum += abs(i - 1000) + toascii(i) + (int)labs(-i);
	return sum;
}

FRAME static long into_vdso(void)
{
	struct timespec ts;
	long sum = 0;

	for (int i = 0; i < 20000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		sum += ts.tv_nsec;
	}
	return sum;
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 1, 2);
	long sum = 0;

	while (cpu_seconds() < seconds)
		sum += through_plt() + into_vdso();
	return sum == 42;
}
