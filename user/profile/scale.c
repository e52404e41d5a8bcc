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
int64_t scale_round(double value)
{
	return value >= 0x1p63 ? INT64_MAX : (int64_t)value;
}

void scale_heap_add(struct scale_sum *sum, uint64_t nr, uint64_t size_bytes, uint64_t rate_bytes)
{
	double bytes = (double)nr * (double)size_bytes, weight = 1;

	if (!nr || !size_bytes)
		return;
	if (rate_bytes > 1)
		weight = 1 / (1 - exp(-(double)size_bytes / (double)rate_bytes));
	sum->objects += (double)nr * weight;
	sum->bytes += bytes * weight;
	/* (1 - p) / p^2, p = 1 / weight */
	sum->bytes_variance += bytes * (double)size_bytes * weight * (weight - 1);
}

double scale_heap_probability(uint64_t size_bytes, uint64_t rate_bytes)
{
	if (rate_bytes <= 1)
		return 1;
	return -expm1(-(double)(size_bytes ? size_bytes : 1) / (double)rate_bytes);
}
