/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two views of heap profiles that were read from files: what is in use, and what was allocated between
 * two of them. Both refuse a profile that does not have the four sample types of a heap profile in
 * their order (alloc_objects, alloc_space, inuse_objects, inuse_space; cprof's variances may follow): a
 * column with another meaning would make either of them wrong.
 *
 * Source: Go's runtime/pprof (the sample types of its heap profile) and net/http/pprof (the deltas that
 * it serves for ?seconds=N).
 */
#ifndef CPROF_PROFILE_HEAPVIEW_H
#define CPROF_PROFILE_HEAPVIEW_H

#include <stddef.h>

#include "profile/model.h"

#define HEAPVIEW_WHY_BYTES 160

/* Is it a heap profile? -EINVAL: no, and why says so for people, the profile's words in it escaped. */
int heapview_check(const struct profile *profile, char why[HEAPVIEW_WHY_BYTES]);

/* Of a heap profile: allocation values are 0, samples that hold nothing gone, duration 0. */
void heapview_inuse(struct profile *profile);

/*
 * What was allocated from first to second, both heap profiles of one process: two sample types, the
 * time and duration what lies between them. -EINVAL: first is not the earlier one, or they cannot be
 * merged, and why says so. The caller frees *delta.
 */
int heapview_delta(const struct profile *first, const struct profile *second,
		   struct profile **delta, char why[HEAPVIEW_WHY_BYTES]);

#endif
