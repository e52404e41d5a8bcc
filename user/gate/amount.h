/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The weight of a profile's samples in a comparison: value, sampling variance and number of samples.
 *
 * Each sample of a CPU profile stands for the same: the variance of n samples that stand for w each is
 * n w^2. A heap profile's are not alike: an allocation of s bytes was taken with p = 1 - e^(-s/rate), and
 * a value scaled up from few large ones is less sure than the same from many small ones. The variance is
 * what `cprof heap --errors` wrote, or else (1 - p) / p s^2 for each object, s being the average of its
 * stack (profile/scale.h).
 */
#ifndef CPROF_GATE_AMOUNT_H
#define CPROF_GATE_AMOUNT_H

#include <stdint.h>

#include "profile/model.h"

/* How the values of a profile's type were sampled. Positions of types, or -1. */
struct sampling {
	int value, variance, objects, bytes, count;
	uint64_t rate_bytes; /* of a heap profile; 0: it is none */
	double weight;	     /* of a sample, where nothing else is known */
};

/* What a sample of the profile gives. */
struct amount {
	double value, variance, nr_samples;
};

/* How this sample type (its position) was sampled. */
struct sampling amount_sampling(const struct profile *profile, uint32_t type);
/* What a sample gives; values: one for each sample type of the profile. */
struct amount amount_of(const struct sampling *sampling, const int64_t *values);

#endif
