// SPDX-License-Identifier: BSD-2-Clause
/*
 * p(size) = 1 - exp(-size / rate), as a fraction of 2^64, at both ends of each piece of the table: BPF adds the slope
 * times the distance. Pieces are 64 per power of two, so the relative error is the same for small and large sizes;
 * sizes below 64 have an entry each and are exact. Computed here because BPF has no floating point.
 */
#include "collect/sampling.h"

#include <math.h>

/* p as a fraction of 2^64. expm1 keeps the digits that 1 - exp(-tiny) would lose. */
static uint64_t threshold(double size, double rate)
{
	double p = -expm1(-size / rate) * 0x1p64;

	return p >= 0x1p64 ? UINT64_MAX : (uint64_t)p;
}

/* The left end of a piece: see the drawing in bpf/sampling.bpf.c. */
static double piece_start(uint32_t piece)
{
	int octave = (int)(piece / ABI_SAMPLING_STEPS) - 1;

	if (octave < 0)
		return piece;
	return ldexp(ABI_SAMPLING_STEPS + piece % ABI_SAMPLING_STEPS, octave);
}

void sampling_fill(struct abi_sampling_piece *pieces, uint64_t rate_bytes)
{
	double rate = (double)rate_bytes;

	for (uint32_t i = 0; i < ABI_SAMPLING_PIECES; i++) {
		double start = piece_start(i), end = piece_start(i + 1);
		uint64_t base = threshold(start, rate), next = threshold(end, rate);

		pieces[i].base = base;
		pieces[i].slope =
			i < ABI_SAMPLING_EXACT ? 0 : (uint64_t)((next - base) / (end - start));
	}
}
