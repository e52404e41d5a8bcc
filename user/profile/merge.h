/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges profiles into one, as pprof's Merge does. They are added one after another, and only the
 * result is held in memory.
 *
 *	struct merger *merger = merger_new();
 *	err = merger_add(merger, a);		any number of times
 *	merged = merger_finish(merger);		or merger_free(merger)
 *
 * Mappings are equal if they have the same size (rounded up to 4 KiB), file offset and build id (or path, without a
 * build id); functions if they have the same names, file and start line; locations if they have the same offset in
 * the same mapping and the same lines; samples if they have the same stack and labels. Durations are added; the
 * period is the largest, the time is the earliest that is not 0, and each comment is kept once. Samples whose values
 * are all 0 are dropped; the first mapping is kept even if no location is in it.
 *
 * Sums saturate at the limits of int64_t. Unlike pprof, the time does not depend on the order if one of them is 0.
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
 * Adds source, which may be freed afterwards. -EINVAL: its sample types or its period type differ from those of the
 * first one; nothing is added, and *why (may be NULL) is a message, static or owned by the merger.
 */
int merger_add(struct merger *merger, const struct profile *source, const char **why);
/* The same with every value multiplied first, rounded to nearest; -1 subtracts. */
int merger_add_scaled(struct merger *merger, const struct profile *source, double factor,
		      const char **why);
/*
 * Makes the types the same on both sides (align.h), which changes source, then adds it like merger_add(). source is
 * changed even if it cannot be added.
 */
int merger_add_aligned(struct merger *merger, struct profile *source, const char **why);
/* Frees the merger and returns the profile, which the caller frees; it is empty if nothing was added. */
struct profile *merger_finish(struct merger *merger);
void merger_free(struct merger *merger); /* NULL is fine */

/* A copy without duplicates and unused entries; the caller frees it. */
struct profile *profile_compact(const struct profile *source);

#endif
