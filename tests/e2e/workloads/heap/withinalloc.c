/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * withinalloc: an allocator, as a library, whose functions are made of one another, by the names that programs call.
 * realloc copies a block of any size: it knows none.
 */
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_BYTES (1ul << 30)
#define HEAD_BYTES  16

static char *next_byte, *limit;

void *malloc(size_t size)
{
	char *block;

	if (!next_byte) {
		next_byte = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		limit = next_byte + ARENA_BYTES;
	}
	size = (size + 15) / 16 * 16;
	if (next_byte == MAP_FAILED || size > ARENA_BYTES ||
	    (size_t)(limit - next_byte) < size + HEAD_BYTES)
		return NULL;
	*(size_t *)next_byte = size;
	block = next_byte + HEAD_BYTES;
	next_byte = block + size;
	return block;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t nr, size_t size)
{
	size_t bytes;
	void *block;

	if (__builtin_mul_overflow(nr, size, &bytes))
		return NULL;
	block = malloc(bytes);
	if (block)
		memset(block, 0, bytes);
	return block;
}

void *realloc(void *old, size_t size)
{
	size_t before = old ? ((size_t *)old)[-2] : 0;
	void *block = malloc(size);

	if (block && old)
		memcpy(block, old, before < size ? before : size);
	if (block)
		free(old);
	return block;
}

void *memalign(size_t alignment, size_t size)
{
	uintptr_t block = (uintptr_t)malloc(size + alignment);

	return block ? (void *)((block + alignment - 1) / alignment * alignment) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	*block = aligned_alloc(alignment, size);
	return *block ? 0 : 12;
}
