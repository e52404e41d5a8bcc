/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two views of heap profiles that were read from files: what is in use, and what was allocated between
 * two of them. Both refuse a profile that does not have the four sample types of a heap profile in
 * their order (alloc_objects, alloc_space, inuse_objects, inuse_space; cprof's variances may follow): a
 * column with another meaning would make both views wrong.
 *
 * Source: Go's runtime/pprof (the sample types of its heap profile) and net/http/pprof (the deltas that
 * it serves for ?seconds=N).
 */
#ifndef CPROF_PROFILE_HEAPVIEW_H
#define CPROF_PROFILE_HEAPVIEW_H

#include <stddef.h>

#include "profile/model.h"

#define HEAPVIEW_WHY_BYTES 160

/* 0: it is a heap profile. -EINVAL: it is not, and why is a message that says so, escaped. */
int heapview_check(const struct profile *profile, char why[HEAPVIEW_WHY_BYTES]);

/* In a heap profile, sets allocation values and the duration to 0, and drops samples that hold nothing. */
void heapview_inuse(struct profile *profile);

/*
 * A profile of what was allocated between two heap profiles of one process: two sample types, with the time and
 * duration between them. -EINVAL: first is not the earlier one, or they cannot be merged, and why says so. The caller frees *delta.
 */
int heapview_delta(const struct profile *first, const struct profile *second,
		   struct profile **delta, char why[HEAPVIEW_WHY_BYTES]);

#endif
