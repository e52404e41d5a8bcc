/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scales sampled allocations up to estimates of all allocations.
 *
 * A heap sampler with mean distance rate bytes takes an allocation of s bytes with probability
 * p = 1 - e^(-s/rate). Dividing by p undoes it. Source: scaleHeapSample of Go's runtime/pprof.
 *
 * Sums are rounded once, at the end: a single sample of a size near the rate stands for 1.58 allocations, and
 * rounding each size of a stack separately would lose a third of them.
 */
#ifndef CPROF_PROFILE_SCALE_H
#define CPROF_PROFILE_SCALE_H

#include <stdint.h>

/* An estimate: the number of objects, their bytes, and the square of the standard error of the bytes. */
struct scale_sum {
	double objects, bytes, bytes_variance;
};

/*
 * Adds nr sampled allocations of size_bytes each; nr or size 0 adds nothing. rate <= 1: everything
 * was sampled, nothing is scaled and there is no error. The variance is the usual estimate from the
 * sample itself, of (1-p)/p^2 * s^2 for each: variances add up over sizes and stacks.
 */
void scale_heap_add(struct scale_sum *sum, uint64_t nr, uint64_t size_bytes, uint64_t rate_bytes);

/* Rounds a sum to a profile's value: toward zero, as Go does; saturates at INT64_MAX. */
int64_t scale_round(double value);

/* The probability that an allocation of size_bytes is sampled; size 0 counts as 1. rate <= 1: 1. */
double scale_heap_probability(uint64_t size_bytes, uint64_t rate_bytes);

#endif
