/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The allocator that programs would call without this library: what comes next in the order in which the loader looks
 * names up. Each pointer leads there, or, before it is known, to a function that finds it.
 */
#ifndef CPROF_INSIDE_NEXT_H
#define CPROF_INSIDE_NEXT_H

#include <stddef.h>
#include <stdint.h>

extern void *(*next_malloc)(size_t size);
extern void *(*next_calloc)(size_t nr, size_t size);
extern void *(*next_realloc)(void *old, size_t size);
extern void (*next_free)(void *block);
extern int (*next_posix_memalign)(void **block, size_t alignment, size_t size);
extern void *(*next_aligned_alloc)(size_t alignment, size_t size);
extern void *(*next_memalign)(size_t alignment, size_t size);
extern void *(*next_valloc)(size_t size);
extern void *(*next_pvalloc)(size_t size);

/* An operator new or delete of C++, or one of jemalloc's own functions, in entries.S. */
struct operator
{
	const void *
		enter; /* where its calls go: to what calls next_operator(), to next, or to counted */
	void *(*next)(size_t size, uintptr_t second, uintptr_t third);
	const void *counted;
	const char *name;
	void *own; /* its function in entries.S */
};

/*
 * Sets next and enter: to counted if next is in the same file as the next malloc, and so an allocator's own, or there is none, so
 * that it is a call of the next malloc or free; to next if it is a C++ library's, which calls malloc.
 */
void next_operator(struct operator* operator);
/* From now on its calls are counted, and go on to next: it is the allocator's own. */
void operator_lead_to(struct operator* operator, void * next);

/* All of them. */
extern struct operator __start_heap_operators[] __attribute__((visibility("hidden")));
extern struct operator __stop_heap_operators[] __attribute__((visibility("hidden")));

#endif
