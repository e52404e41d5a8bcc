/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * late [SECONDS]: waits (1.5 s), and then allocates 100 x 500 bytes: who is noticed a moment after its start is noticed
 * before that.
 */
#include "../workload.h"

static void *volatile last;

static void site_late(void)
{
	for (int i = 0; i < 100; i++)
		last = malloc(500);
}

int main(int argc, char **argv)
{
	usleep(number_arg(argc, argv, 1, 1.5) * 1e6);
	site_late();
	return 0;
}
