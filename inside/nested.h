/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocators that make a function of others, which they call by the names that programs call: musl's calloc calls malloc.
 * Such a call comes to this library, too, and must not be counted twice.
 */
#ifndef CPROF_INSIDE_NESTED_H
#define CPROF_INSIDE_NESTED_H

/*
 * Tries each function of next.h once, with a block that it frees again. From now on what a function calls within is not counted.
 * Does nothing where the allocator is glibc's. Keeps errno, and what the calling thread has left. Call it where one may
 * allocate, when the functions of next.h are known.
 */
void nested_hold(void);

#endif
