/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges profiles into one, as pprof's Merge does. They are added one after another, and only the
 * result is held in memory.
 *
 *	struct merger *merger = merger_new();
 *	err = merger_add(merger, a);		any number of times
 *	merged = merger_finish(merger);		or merger_free(merger)
 *
 * Equal are mappings of the same size (rounded up to 4 KiB), file offset and build id (path, where
 * there is none); functions of the same names, file and start line; locations at the same place of
 * the same mapping with the same lines; samples of the same stack and labels. Durations add up; the
 * period is the largest, the time the earliest that is not 0, comments are kept once. Samples whose
 * values are all 0 are dropped; the first mapping stays even if nothing is in it.
 *
 * Sums that would overflow stick at the end of int64_t. Not copied from pprof: that the time depends
 * on the order when one of them is 0.
 *
 * Source: pprof's profile/merge.go.
 */
#ifndef CPROF_PROFILE_MERGE_H
#define CPROF_PROFILE_MERGE_H

#include <stddef.h>

#include "profile/model.h"

struct merger;

/* An empty merger, never NULL. End it with merger_finish() or merger_free(). */
struct merger *merger_new(void);
/*
 * Adds source, of which nothing is kept. -EINVAL: its sample types or its period type are not those
 * of the first one; *why (may be NULL) is then a text for people, static or in the merger. Nothing
 * was added then.
 */
int merger_add(struct merger *merger, const struct profile *source, const char **why);
/* The same with every value multiplied first, rounded to nearest: -1 is what subtracts. */
int merger_add_scaled(struct merger *merger, const struct profile *source, double factor,
		      const char **why);
/*
 * The same as merger_add(), after the types were made the same on both sides (align.h): source is
 * changed by it, also if it cannot be added.
 */
int merger_add_aligned(struct merger *merger, struct profile *source, const char **why);
/* Ends the merger; the caller frees the profile. Without any source an empty one. */
struct profile *merger_finish(struct merger *merger);
void merger_free(struct merger *merger); /* NULL is fine */

/* A copy with every duplicate interned and everything unused left out; the caller frees it. */
struct profile *profile_compact(const struct profile *source);

#endif
