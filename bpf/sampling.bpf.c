// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * BPF has no floating point, so p comes from a table of straight pieces (heap_abi.h; filled by
 * user/collect/sampling.c). A size's piece is found from its highest bit and the six below:
 *
 *	size = 1 b5 b4 b3 b2 b1 b0 | rest		octave = position of the 1
 *	piece = (octave - 6 + 1) * 64 + b5..b0		p = base + slope * rest
 *
 * and sizes below 64 are pieces by themselves. The draw compares 32 random bits with the upper half
 * of p, and only where they are equal the next 32 with the lower half: exact to 2^-64, for the price
 * of one random number.
 */
#include "sampling.bpf.h"

#include "branchless.bpf.h"

struct sampling_table {
	struct abi_sampling_piece pieces[ABI_SAMPLING_PIECES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sampling_table);
} sampling_tables SEC(".maps");

/* The position of the highest bit, without a loop: there is no such BPF instruction. */
static __always_inline u32 highest_bit(u64 value)
{
	u64 shift, position = 0;

#define HALVE(bits)                                   \
	shift = is_nonzero(value >> (bits)) * (bits); \
	value >>= shift;                              \
	position += shift
	HALVE(32);
	HALVE(16);
	HALVE(8);
	HALVE(4);
	HALVE(2);
	HALVE(1);
#undef HALVE
	return position;
}

__hidden u64 sampling_threshold(u64 size_bytes)
{
	u64 size = size_bytes ? size_bytes : 1, rest = 0;
	struct sampling_table *table;
	u32 zero = 0, piece = size, octave;

	table = bpf_map_lookup_elem(&sampling_tables, &zero);
	if (!table || size >> ABI_SAMPLING_OCTAVES)
		return ~0ull;
	if (size >= ABI_SAMPLING_EXACT) {
		octave = highest_bit(size) - ABI_SAMPLING_STEP_BITS;
		piece = (octave + 1) * ABI_SAMPLING_STEPS +
			((size >> octave) & (ABI_SAMPLING_STEPS - 1));
		rest = size & ((1ull << octave) - 1);
	}
	if (piece >= ABI_SAMPLING_PIECES)
		return ~0ull;
	return table->pieces[piece].base + table->pieces[piece].slope * rest;
}

__hidden bool sampling_draw(u64 size_bytes)
{
	u64 threshold;
	u32 random;

	if (config.rate_bytes <= 1)
		return true;
	threshold = sampling_threshold(size_bytes);
	random = bpf_get_prandom_u32();
	if (random != threshold >> 32)
		return random < threshold >> 32;
	return bpf_get_prandom_u32() < (u32)threshold;
}
