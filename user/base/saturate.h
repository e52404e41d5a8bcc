/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of hostile numbers: they stick at the ends of int64_t instead of wrapping. */
#ifndef CPROF_BASE_SATURATE_H
#define CPROF_BASE_SATURATE_H

#include <stdint.h>

static inline int64_t saturated_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

/* Unsigned: the magnitude of INT64_MIN is no int64_t. */
static inline uint64_t magnitude_of(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* For qsort: the larger magnitude first. */
static inline int compare_magnitudes(int64_t a, int64_t b)
{
	uint64_t x = magnitude_of(a), y = magnitude_of(b);

	return x > y ? -1 : x < y;
}

#endif
