/* SPDX-License-Identifier: BSD-2-Clause */
/* The magnitude of a signed number, and its use in sorting. */
#ifndef CPROF_BASE_MAGNITUDE_H
#define CPROF_BASE_MAGNITUDE_H

#include <stdint.h>

/* Unsigned: the magnitude of INT64_MIN is no int64_t. */
static inline uint64_t magnitude_of(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* A comparison for qsort(): the larger magnitude comes first. */
static inline int compare_magnitudes(int64_t a, int64_t b)
{
	uint64_t x = magnitude_of(a), y = magnitude_of(b);

	return x > y ? -1 : x < y;
}

#endif
