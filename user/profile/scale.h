/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From what was sampled to what was there.
 *
 * A heap sampler with mean distance rate bytes takes an allocation of s bytes with probability
 * p = 1 - e^(-s/rate). Dividing by p undoes it. Source: scaleHeapSample of Go's runtime/pprof.
 */
#ifndef CPROF_PROFILE_SCALE_H
#define CPROF_PROFILE_SCALE_H

#include <stdint.h>

/*
 * count sampled allocations of size_bytes bytes together, as if all had their average size: give
 * records of one size each, since the scale of an average is not the average of the scales.
 * count or size 0: both results 0. rate <= 1: everything was sampled, nothing is scaled. Rounded
 * once, toward zero, as the source does.
 */
void scale_heap_sample(int64_t count, int64_t size_bytes, int64_t rate_bytes, int64_t *scaled_count,
		       int64_t *scaled_bytes);

/* The probability that an allocation of size_bytes is sampled; size 0 counts as 1. rate <= 1: 1. */
double scale_heap_probability(uint64_t size_bytes, uint64_t rate_bytes);

#endif
