/* SPDX-License-Identifier: BSD-2-Clause */
/* Where to probe a function of an allocator: what reading its file finds (probes/) and attaching takes (collect/). */
#ifndef CPROF_ALLOCSITE_H
#define CPROF_ALLOCSITE_H

#include <stdbool.h>
#include <stdint.h>

/* The shapes of allocator functions (see ABI_ALLOCATORS in bpf/heap_abi.h). */
enum alloc_shape {
	SHAPE_MALLOC,
	SHAPE_CALLOC,
	SHAPE_REALLOC,
	SHAPE_REALLOCARRAY,
	SHAPE_MEMALIGN,
	SHAPE_POSIX_MEMALIGN,
	SHAPE_FREE,
	/* Probes that a process fires itself, in libcprof-heap.so: see bpf/inside.bpf.c. */
	SHAPE_SAMPLED,
	SHAPE_SAMPLED_FREE,
	SHAPE_MOVED,
	NR_SHAPES
};

/* Where to probe a function, and what a probe there sees. */
struct alloc_site {
	enum alloc_shape shape;
	/*
	 * Of an instruction that every call comes to once, with the arguments still in their
	 * registers and (but for free) the return address still on top of the stack.
	 */
	uint64_t file_off;
	bool is_leaf; /* calls no other site */
	/* Where 16 bits are that the kernel counts the probe's listeners in; 0: nobody wants to know. */
	uint64_t semaphore_off;
};

#define ALLOC_MAX_SITES 48 /* of one file */

#endif
