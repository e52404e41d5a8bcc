/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ownalloc [COUNT]: has an allocator of its own, in which calloc calls malloc, and malloc goes through a
 * pointer to a function, as wrappers of another allocator do, that is a malloc, too. What it
 * does and says is in two_sites.h.
 */
#include <string.h>

#include "two_sites.h"

static char pool[64 << 20] __attribute__((aligned(16)));
static size_t used;

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
