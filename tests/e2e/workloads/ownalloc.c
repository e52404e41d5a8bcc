/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ownalloc [COUNT]: has an allocator of its own, in which calloc calls malloc, and malloc goes through a
 * pointer to a function, as wrappers of another allocator do, that is a malloc, too. What it
 * does and says is in two_sites.h.
 */
#include "pool.h"
#include "two_sites.h"

/* Found as an allocator function by its name, and called by malloc and by nobody else. */
void *valloc(size_t size)
{
	return pool_take(size);
}

static void *(*volatile allocate)(size_t) = valloc;

void *malloc(size_t size)
{
	return allocate(size);
}
