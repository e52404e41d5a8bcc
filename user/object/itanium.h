/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Demangles C++ names (Itanium C++ ABI, chapter 5.1) within bounds of time, memory and output.
 *
 * libiberty's demangler does the work; the bounds hold however large the result of a name would be.
 */
#ifndef CPROF_OBJECT_ITANIUM_H
#define CPROF_OBJECT_ITANIUM_H

#include <stddef.h>

#define ITANIUM_MAX_BYTES (64u << 10) /* of a name, and of its result, which is cut there */

/*
 * Demangles the len bytes at name; owned by the caller: free(). NULL: it does not begin with _Z, is not
 * valid, is too long, or took more than a tenth of a second.
 */
char *itanium_demangle(const char *name, size_t len);

/* The stack that the worst name needs. */
#define ITANIUM_STACK_BYTES (100u << 20)
/*
 * From now on every name is demangled by the thread that asks, whose stack must have ITANIUM_STACK_BYTES. For a process
 * that may not make threads, and whose own time is limited, since nothing ends a name that takes too long.
 */
void itanium_without_threads(void);

#endif
