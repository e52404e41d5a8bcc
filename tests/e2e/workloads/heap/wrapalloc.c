/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wrapalloc [COUNT]: wraps the C library's allocator, as a tool that counts would: malloc calls a
 * function that calls __libc_malloc, which is libc's own malloc by another name, and calloc calls one
 * that calls malloc. What it does and says is in two_sites.h.
 */
#include "../two_sites.h"

void *__libc_malloc(size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *block);

static unsigned long nr_calls;

static void *__attribute__((noinline)) count_and_allocate(size_t size)
{
	void *block;

	nr_calls++;
	block = __libc_malloc(size);
	nr_calls += !block; /* no tail call */
	return block;
}

void *malloc(size_t size)
{
	void *block = count_and_allocate(size);

	nr_calls += !block;
	return block;
}

static void *__attribute__((noinline)) allocate_zeroed(size_t size)
{
	char *block = malloc(size);

	for (size_t i = 0; block && i < size; i++)
		block[i] = 0;
	return block;
}

void *calloc(size_t nr, size_t size)
{
	void *block = size && nr > SIZE_MAX / size ? NULL : allocate_zeroed(nr * size);

	nr_calls += !block;
	return block;
}

void *realloc(void *old, size_t size)
{
	return __libc_realloc(old, size);
}

void free(void *block)
{
	__libc_free(block);
}
