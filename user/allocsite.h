/* SPDX-License-Identifier: BSD-2-Clause */
/* Where to probe a function of an allocator: what reading its file finds (probes/) and attaching takes (collect/). */
#ifndef CPROF_ALLOCSITE_H
#define CPROF_ALLOCSITE_H

#include <stdbool.h>
#include <stdint.h>

/* The shapes of allocator functions (see ABI_ALLOCATORS in bpf/cprof_abi.h). */
enum alloc_shape {
	SHAPE_MALLOC,
	SHAPE_CALLOC,
	SHAPE_REALLOC,
	SHAPE_REALLOCARRAY,
	SHAPE_MEMALIGN,
	SHAPE_POSIX_MEMALIGN,
	SHAPE_FREE,
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
};

#define ALLOC_MAX_SITES 48 /* of one file */

#endif
