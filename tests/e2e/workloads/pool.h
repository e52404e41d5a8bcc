/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Most of an allocator, for workloads that bring their own: blocks are cut from a pool, one behind the
 * other, and never come back. malloc() is left to the workload.
 */
#ifndef POOL_H
#define POOL_H

#include <stdlib.h>
#include <string.h>

static char pool[64 << 20] __attribute__((aligned(16)));
static size_t pool_used;

/* Always inlined, so that its caller is a function that calls no other. */
static inline __attribute__((always_inline)) void *pool_take(size_t size)
{
	size_t at = pool_used;

	pool_used += (size + 15) & ~(size_t)15;
	return pool_used <= sizeof(pool) ? pool + at : NULL;
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

#endif
