/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ownalloc [COUNT]: has an allocator of its own, in which calloc calls malloc, and malloc goes through a
 * pointer to a function, as wrappers of another allocator do, that is a malloc, too. Allocates
 * 1000 bytes COUNT times (12000) from site_malloc and site_calloc each.
 *
 * Says {"ready": PID} and waits for a line on stdin; allocates; says {"site_malloc": COUNT, ...}; waits
 * for another line.
 */
#include <string.h>

#include "workload.h"

static char pool[64 << 20] __attribute__((aligned(16)));
static size_t used;
static void *volatile kept;
static volatile size_t bytes = 1000;

/* Found as an allocator function by its name, and called by malloc and by nobody else. */
void *valloc(size_t size)
{
	size_t at = used;

	used += (size + 15) & ~(size_t)15;
	return used <= sizeof(pool) ? pool + at : NULL;
}

static void *(*volatile allocate)(size_t) = valloc;

void *malloc(size_t size)
{
	return allocate(size);
}

void *calloc(size_t nr, size_t size)
{
	return malloc(nr * size);
}

void *realloc(void *old, size_t size)
{
	void *block = malloc(size);

	if (block && old)
		memmove(block, old, size); /* the pool goes on behind every block */
	return block;
}

void free(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

static void site_malloc(void)
{
	kept = malloc(bytes);
}

static void site_calloc(void)
{
	kept = calloc(10, bytes / 10);
}

int main(int argc, char **argv)
{
	int count = (int)number_arg(argc, argv, 1, 12000);

	wait_for_line("ready");
	for (int i = 0; i < count; i++) {
		site_malloc();
		site_calloc();
	}
	printf("{\"site_malloc\": %d, \"site_calloc\": %d}\n", count, count);
	wait_for_line("done");
	return 0;
}
