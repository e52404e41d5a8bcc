// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sampler draws the distance to the next sampled byte from an exponential distribution with
 * mean `rate`: a Poisson process over the bytes allocated, in which every byte has the same chance
 * whatever allocation it is part of. An allocation of s bytes is taken when at least one of its
 * bytes is hit: p = 1 - P(none) = 1 - e^(-s/rate). What was seen n times was there about n/p times.
 *
 * Where x = s/rate is small, 1 - exp(-x) loses digits that -expm1(-x) keeps: at x = 2^-19 (one byte at
 * 512 KiB) the two part in the 10th digit. Probabilities take expm1. The scaled values take the
 * source's own expression, digits lost and all, so that "the same as Go's" is true to the unit.
 */
#include "profile/scale.h"

#include <math.h>

/* float64 to int64 as the source does it, toward zero; where C has no answer, the largest. */
static int64_t to_int64(double value)
{
	return value >= 0x1p63 ? INT64_MAX : (int64_t)value;
}

void scale_heap_sample(int64_t count, int64_t size_bytes, int64_t rate_bytes, int64_t *scaled_count,
		       int64_t *scaled_bytes)
{
	double average, scale;

	*scaled_count = 0;
	*scaled_bytes = 0;
	if (count <= 0 || size_bytes <= 0)
		return;
	if (rate_bytes <= 1) {
		*scaled_count = count;
		*scaled_bytes = size_bytes;
		return;
	}
	average = (double)size_bytes / (double)count;
	scale = 1 / (1 - exp(-average / (double)rate_bytes));
	*scaled_count = to_int64((double)count * scale);
	*scaled_bytes = to_int64((double)size_bytes * scale);
}

double scale_heap_probability(uint64_t size_bytes, uint64_t rate_bytes)
{
	if (rate_bytes <= 1)
		return 1;
	return -expm1(-(double)(size_bytes ? size_bytes : 1) / (double)rate_bytes);
}
