/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sizes RATE [PERCENT]: a site for each of the sizes 1, 16, 100, 4096, R/2, R, 2R and 10R, each with
 * about as many allocations as a sampler with that rate takes 100 samples of, at most 200,000. Every
 * second block stays until the end.
 *
 * Says {"ready": PID} and waits for a line; says {"site_0": {"size": N, "objects": N,
 * "live_objects": N}, ...}; waits for a line, frees all, says {"done": PID} and waits for another.
 * LDLIBS: -lm
 */
#include <math.h>

#include "workload.h"

#define MOST 200000

static void *kept;

/* Blocks that stay form a list through themselves, so that nothing else is allocated. */
static void take(void *block, size_t size, size_t i)
{
	if (!block)
		abort();
	if (i % 2 == 0 || size < sizeof(void *)) {
		free(block);
		return;
	}
	*(void **)block = kept;
	kept = block;
}

#define SITE(n)                                               \
	static void site_##n(volatile size_t size, size_t nr) \
	{                                                     \
		for (size_t i = 0; i < nr; i++)               \
			take(malloc(size), size, i);          \
	}
SITE(0)
SITE(1)
SITE(2)
SITE(3)
SITE(4)
SITE(5)
SITE(6)
SITE(7)

int main(int argc, char **argv)
{
	static void (*const sites[])(size_t, size_t) = {site_0, site_1, site_2, site_3,
							site_4, site_5, site_6, site_7};
	size_t rate = (size_t)number_arg(argc, argv, 1, 16384);
	double percent = number_arg(argc, argv, 2, 100);
	size_t sizes[] = {1, 16, 100, 4096, rate / 2, rate, 2 * rate, 10 * rate}, nrs[8];

	wait_for_line("ready");
	for (int i = 0; i < 8; i++) {
		nrs[i] = (size_t)(percent / -expm1(-(double)sizes[i] / (double)rate)) / 2 * 2;
		if (nrs[i] > MOST)
			nrs[i] = MOST;
		sites[i](sizes[i], nrs[i]);
	}
	for (int i = 0; i < 8; i++)
		printf("%s\"site_%d\": {\"size\": %zu, \"objects\": %zu, \"live_objects\": %zu}",
		       i ? ", " : "{", i, sizes[i], nrs[i],
		       sizes[i] < sizeof(void *) ? 0 : nrs[i] / 2);
	printf("}\n");
	wait_for_line("full");
	while (kept) {
		void *next = *(void **)kept;

		free(kept);
		kept = next;
	}
	wait_for_line("done");
	return 0;
}
