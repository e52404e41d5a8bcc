/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mixture: 262,144 blocks of 16 bytes and 16 of 32 MiB, from one place: what a profiler gets wrong that
 * scales a stack's samples by their average size. Speaks as allocs does, of the site `mixture`.
 */
#include "workload.h"

#define NR_SMALL (1 << 18)
#define NR_LARGE 16
#define SMALL	 16
#define LARGE	 (32 << 20)

static void *volatile last;

static void mixture(void)
{
	for (int i = 0; i < NR_SMALL + NR_LARGE; i++) {
		last = malloc(i % (NR_SMALL / NR_LARGE + 1) ? SMALL : LARGE);
		if (!last)
			abort();
	}
}

int main(void)
{
	wait_for_line("ready");
	mixture();
	printf("{\"small\": %d, \"small_bytes\": %d, \"large\": %d, \"large_bytes\": %d}\n",
	       NR_SMALL, SMALL, NR_LARGE, LARGE);
	wait_for_line("done");
	return 0;
}
