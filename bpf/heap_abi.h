/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The heap's part of the contract (cprof_abi.h): images, blocks, allocator calls, and the sampling probability. */
#ifndef CPROF_HEAP_ABI_H
#define CPROF_HEAP_ABI_H

#ifndef __bpf__ /* there vmlinux.h has the types, and the two do not go together */
#include <linux/types.h>
#endif

/* What an image holds, as estimated, and the most that it held so far. Key: struct abi_image. */
struct abi_peak {
	__u64 live_bytes; /* may be below 0 for a moment */
	__u64 most_bytes;
	__u64 most_ns; /* when; 0: it held nothing yet */
};

/* What a process runs between two execs, and what blocks belong to. */
struct abi_image {
	__u32 tgid;
	__u32 exec_id; /* grows with each exec */
};

/*
 * A sampled block that is alive. With the image in the key, a block of an earlier one is never
 * met. 16 + 8 bytes, because a million of them shall fit in 128 MB.
 */
struct abi_block_key {
	__u64 address;
	struct abi_image image;
};

/* Its value: the id alone, or all of it with config.keeps_lives. */
struct abi_block {
	__u64 id; /* of its record; never 0 */
	__u64 born_ns;
	__u64 weight_bytes; /* what it stands for: its size / the probability that it was sampled */
};

/* Where an address counts in live_filter[]: of a product's upper bits each depends on all of it. */
#define ABI_LIVE_FILTER	   16384
#define ABI_LIVE_PLACE(at) ((__u32)(((at) >> 4) * 0x9e3779b97f4a7c15ull >> 50))

/* Images that have sampled blocks. Key: struct abi_image, value: __u32, one of these. */
enum abi_holder {
	ABI_HOLDER_LIVES,
	ABI_HOLDER_EXITED, /* its blocks are still in the live map */
	ABI_HOLDER_EXECED, /* its blocks are still in the live map */
};

/* Allocator functions by the shape of their arguments: BPF programs for each. */
#define ABI_ALLOCATORS(X)                                                       \
	X(MALLOC)	  /* p = f(size): malloc, valloc, pvalloc */            \
	X(CALLOC)	  /* p = f(nr, size) */                                 \
	X(REALLOC)	  /* p = f(old, size) */                                \
	X(REALLOCARRAY)	  /* p = f(old, nr, size) */                            \
	X(MEMALIGN)	  /* p = f(alignment, size): memalign, aligned_alloc */ \
	X(POSIX_MEMALIGN) /* error = f(&p, alignment, size) */                  \
	X(FREE)		  /* f(p): free, cfree */

enum abi_allocator {
#define X(id) ABI_ALLOCATOR_##id,
	ABI_ALLOCATORS(X)
#undef X
	ABI_NR_ALLOCATORS
};

/*
 * A call under way. Key: __u64 pid_tgid. At most one a thread: the outermost, and not even that
 * for an unsampled call of a function that calls no other.
 */
struct abi_inflight {
	__u64 entry_sp; /* tells this call from nested ones, and from one that never returned */
	__u64 entry_ip; /* the function: the leaf frame */
	__u64 size_bytes;
	__u64 result_at;      /* posix_memalign: where the pointer will be */
	__u64 old_address;    /* realloc: the block that is on its way out */
	struct abi_block old; /* it, put back if the call fails; id 0: was not sampled */
	__u32 allocator;      /* enum abi_allocator */
	__u32 sampled;
};

/*
 * The sampling probability p = 1 - e^(-size/rate) as a 64-bit fraction, without floating point. Sizes below
 * ABI_SAMPLING_EXACT have an entry each; above, every octave has ABI_SAMPLING_STEPS straight pieces, wrong by
 * less than 2e-5 of p. From 2^ABI_SAMPLING_OCTAVES on everything is sampled.
 */
#define ABI_SAMPLING_STEP_BITS 6
#define ABI_SAMPLING_STEPS     (1 << ABI_SAMPLING_STEP_BITS)
#define ABI_SAMPLING_EXACT     ABI_SAMPLING_STEPS
#define ABI_SAMPLING_OCTAVES   48
#define ABI_SAMPLING_PIECES \
	((ABI_SAMPLING_OCTAVES - ABI_SAMPLING_STEP_BITS + 1) * ABI_SAMPLING_STEPS)

struct abi_sampling_piece {
	__u64 base;  /* p * 2^64 at the left end */
	__u64 slope; /* growth of base per byte */
};

/* A probe's cookie: the function's shape, and whether it calls no other probed function. */
#define ABI_SITE_LEAF		     1u
#define ABI_SITE(allocator, is_leaf) ((__u64)(allocator) << 8 | ((is_leaf) ? ABI_SITE_LEAF : 0))
#define ABI_SITE_ALLOCATOR(cookie)   ((cookie) >> 8 & 0xff)

_Static_assert(sizeof(struct abi_block_key) == 16, "abi_block_key changed size");
_Static_assert(sizeof(struct abi_image) == 8, "abi_image changed size");
_Static_assert(sizeof(struct abi_inflight) == 72, "abi_inflight changed size");
_Static_assert(sizeof(struct abi_block) == 24, "abi_block changed size");
_Static_assert(sizeof(struct abi_peak) == 24, "abi_peak changed size");
_Static_assert(sizeof(struct abi_sampling_piece) == 16, "abi_sampling_piece changed size");

#endif
