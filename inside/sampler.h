/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampled path of the library: what the functions of entries.S call where a thread's next sample is reached, or
 * where a block may be a sampled one.
 *
 * Each does what the function of its name promises, by calling the allocator that comes next. Nothing here allocates,
 * locks, prints, or changes errno.
 */
#ifndef CPROF_INSIDE_SAMPLER_H
#define CPROF_INSIDE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "inside/next.h"

/* What a call returns, in two registers. */
struct outcome {
	uint64_t value;	 /* the block, or posix_memalign's error */
	uint64_t weight; /* bytes that the sampled block stands for; 0: it is not sampled */
};

#define HEAP_RATES 4

/* The bytes that the calling thread still has to allocate before its next sample, by rate. 0: none was drawn yet. */
extern __thread uint64_t heap_left[HEAP_RATES] __attribute__((tls_model("initial-exec")));

/* Alone in a cache line: every call reads it. */
struct heap_rates {
	_Alignas(
		64) uint64_t at; /* where the one in use is in heap_left: in bytes, for entries.S */
	uint64_t bytes[HEAP_RATES]; /* 0: there is none */
};
extern volatile struct heap_rates heap_rates;

/* The allocation functions; their size was subtracted from heap_left. product: of nr and size. */
struct outcome sample_malloc(size_t size);
struct outcome sample_valloc(size_t size);
struct outcome sample_pvalloc(size_t size);
struct outcome sample_aligned_alloc(size_t alignment, size_t size);
struct outcome sample_memalign(size_t alignment, size_t size);
struct outcome sample_calloc(size_t nr, size_t size);
struct outcome sample_posix_memalign(void **block, size_t alignment, size_t size);
/* The same; is_counted: size was subtracted. The old block may be a sampled one. */
struct outcome sample_realloc(void *old, size_t size, uint64_t is_counted);
/* An operator new, which may throw. size was subtracted. */
struct outcome sample_new(const struct operator* operator, size_t size, uintptr_t second,
			  uintptr_t third);
/* rallocx(old, size, flags), which is such a function, as sample_realloc(). */
struct outcome sample_rallocx(const struct operator* rallocx, void *old, size_t size,
			      uintptr_t flags, uint64_t is_counted);
/* Tells that block is about to be freed, if it is a sampled one. The caller frees it. */
void sample_free(void *block);
/* What reallocarray() does where the product overflows: sets errno to ENOMEM. Returns NULL. */
void *sample_overflow(void);

/* Samples at this rate from now on. */
void sample_at(uint64_t rate_bytes);

/* The probes of entries.S; see there. */
void heap_free(const void *block, uint64_t will_tell);
void heap_moved(uint64_t has_moved);
extern volatile uint16_t heap_alloc_semaphore;
/* Not 0: allocations are counted even if nobody listens; none is sampled then. */
extern volatile uint16_t heap_counts;

#endif
