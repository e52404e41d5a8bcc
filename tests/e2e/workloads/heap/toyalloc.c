/* SPDX-License-Identifier: BSD-2-Clause */
/* An allocator of one pool that never gives anything back: for a library, or to be linked in. */
#include <stdint.h>
#include <string.h>

#define MOST ((size_t)1 << 40)

static char pool[64 << 20] __attribute__((aligned(16)));
static size_t used;

/* Each block has its size before it. */
void *malloc(size_t size)
{
	size_t need = (size + 31) & ~(size_t)15;
	size_t at = size > MOST ? sizeof(pool) : __atomic_fetch_add(&used, need, __ATOMIC_RELAXED);

	if (at + need > sizeof(pool))
		return NULL;
	*(size_t *)(pool + at) = size;
	return pool + at + 16;
}

void free(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

void *calloc(size_t nr, size_t size)
{
	if (size && nr > MOST / size)
		return NULL;
	return malloc(nr * size);
}

void *realloc(void *old, size_t size)
{
	void *block = malloc(size);
	size_t had = old ? *(size_t *)((char *)old - 16) : 0;

	if (block && old)
		memcpy(block, old, had < size ? had : size);
	return block;
}
