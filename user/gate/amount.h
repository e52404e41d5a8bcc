/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The weight of a profile's samples in a comparison: value, sampling variance and number of samples.
 *
 * All samples of a CPU profile stand for the same value w: the variance of n samples is n w^2. Those of a heap
 * profile differ: an allocation of s bytes was sampled with p = 1 - e^(-s/rate), and a value scaled up from few
 * large ones is less certain than the same value from many small ones. Its variance is the one that `cprof heap
 * --errors` wrote, or else (1 - p) / p s^2 for each object, where s is the average size of its stack
 * (profile/scale.h).
 */
#ifndef CPROF_GATE_AMOUNT_H
#define CPROF_GATE_AMOUNT_H

#include <stdint.h>

#include "profile/model.h"

/* How the values of a profile's type were sampled. Positions of types, or -1. */
struct sampling {
	int value, variance, objects, bytes, count;
	uint64_t rate_bytes; /* of a heap profile; 0: not a heap profile */
	double weight;	     /* of a sample, if nothing else is known */
};

/* The weight of one sample. */
struct amount {
	double value, variance, nr_samples;
};

/* How the sample type at position type was sampled. */
struct sampling amount_sampling(const struct profile *profile, uint32_t type);
/* The weight of a sample; values: one for each sample type of the profile. */
struct amount amount_of(const struct sampling *sampling, const int64_t *values);

#endif
