/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * edges: the allocator calls that are easy to count wrongly, from functions that every C library has.
 * Speaks as allocs does: {"ready": PID}, a line, {"site": {"objects": N, "bytes": N, "live_objects":
 * N, "live_bytes": N}, ...}, {"done": PID}, a line. With an argument it waits for nothing.
 */
#include <errno.h>
#include <pthread.h>

#include "workload.h"

#define NR 200

static volatile size_t much = SIZE_MAX / 4, zero;
static void *volatile last; /* or the compiler leaves pairs of malloc and free out */

static void need(bool right)
{
	if (!right)
		abort();
}

static void site_grow(void)
{
	char *block = realloc(malloc(100), 100000);

	need((last = block) != NULL);
}

static void site_shrink(void)
{
	need((last = realloc(malloc(10000), 100)) != NULL);
}

static void site_fail(void)
{
	need((last = malloc(500)) && !realloc(last, much));
}

/* Whether NULL comes back or a block of no bytes: the old one is gone. */
static void site_realloc_zero(void)
{
	last = malloc(700);
	last = realloc(last, zero);
	free(last);
}

static void site_calloc_overflow(void)
{
	last = calloc(much, 8);
	need(!last);
}

static void site_align_fails(void)
{
	void *block = NULL;

	need(posix_memalign(&block, 3, 100) == EINVAL);
	need(posix_memalign(&block, 64, much) == ENOMEM);
	last = block;
}

static void site_align(void)
{
	void *block = NULL;

	need(!posix_memalign(&block, 4096, 3000) && (last = aligned_alloc(64, 6400)));
	free(block);
}

/* The same address again and again. */
static void site_reuse(void)
{
	for (int i = 0; i < 10; i++) {
		last = malloc(48);
		free(last);
	}
}

static void *free_it(void *block)
{
	free(block);
	return NULL;
}

static void site_freed_by_another(void)
{
	pthread_t thread;

	need(!pthread_create(&thread, NULL, free_it, malloc(900)));
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*call)(void);
		size_t objects, bytes, live_objects, live_bytes; /* of one call */
	} sites[] = {
		{"site_grow", site_grow, 2, 100100, 1, 100000},
		{"site_shrink", site_shrink, 2, 10100, 1, 100},
		{"site_fail", site_fail, 1, 500, 1, 500},
		{"site_realloc_zero", site_realloc_zero, 1, 700, 0, 0},
		{"site_calloc_overflow", site_calloc_overflow, 0, 0, 0, 0},
		{"site_align_fails", site_align_fails, 0, 0, 0, 0},
		{"site_align", site_align, 2, 9400, 1, 6400},
		{"site_reuse", site_reuse, 10, 480, 0, 0},
	};
	bool wait = argc < 2;

	(void)argv;
	if (wait)
		wait_for_line("ready");
	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++)
		for (int j = 0; j < NR; j++)
			sites[i].call();
	for (int j = 0; j < NR; j++)
		site_freed_by_another();
	printf("{");
	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++)
		printf("\"%s\": {\"objects\": %zu, \"bytes\": %zu, \"live_objects\": %zu, "
		       "\"live_bytes\": %zu}, ",
		       sites[i].name, NR * sites[i].objects, NR * sites[i].bytes,
		       NR * sites[i].live_objects, NR * sites[i].live_bytes);
	printf("\"free_it\": {\"objects\": 0, \"bytes\": 0, \"live_objects\": 0, \"live_bytes\": "
	       "0}}\n");
	if (wait)
		wait_for_line("done");
	return 0;
}
