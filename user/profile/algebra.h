/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What can be done to a profile in place: scaled, its sample types chosen, its samples and frames
 * filtered. The seeds' algebra: a heap profile's delta is merge(scale(first, -1), second).
 *
 * Values are rounded to nearest and stick at the ends of int64_t. A sample is dropped when all its
 * values are 0 after, and not otherwise (pprof's ScaleN drops one whose ratios are 1).
 *
 * Source: pprof's profile/{profile,filter,prune}.go.
 */
#ifndef CPROF_PROFILE_ALGEBRA_H
#define CPROF_PROFILE_ALGEBRA_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"

void profile_scale(struct profile *profile, double factor);
/* nr_types factors. */
void profile_scale_types(struct profile *profile, const double *factors);
/*
 * Scales each type of source so that its sum is that of base's type of the same position; a type
 * whose sum is 0 is left alone. -EINVAL: their sample types are not the same.
 */
int profile_normalize(struct profile *source, const struct profile *base);

/* The position of the sample type with this name, or -ENOENT. */
int profile_find_type(const struct profile *profile, const char *name);
/* Keeps the types for which keep[i], nr_types of them; at least one. Drops samples left with 0s. */
void profile_keep_types(struct profile *profile, const bool *keep);

/*
 * Which samples and frames stay. NULL regexes match nothing to do. All match anywhere in a
 * function's name, its file, or the mapping's file, as pprof's do.
 */
struct profile_filter {
	const regex_t *focus;  /* keep samples with such a frame */
	const regex_t *ignore; /* then drop samples with such a frame */
	const regex_t *hide;   /* drop such frames */
	const regex_t *show;   /* keep only such frames */
	const regex_t
		*show_from; /* drop the frames on the root's side of the outermost such frame */
	const regex_t *tag_focus; /* keep samples with such a label: "key=value" or "value" */
	const regex_t *tag_ignore;
};
/* Samples without a frame left are dropped. Returns how many samples went. */
size_t profile_filter_samples(struct profile *profile, const struct profile_filter *filter);
/* Applies the profile's own drop_frames and keep_frames. -EINVAL: they are not regexes. */
int profile_prune(struct profile *profile);

/*
 * A profile for each value of a label ("comm", "pid"), in the order of first appearance; samples
 * without it make one of their own, last, value NULL. fn gets each, borrowed; its -errno ends it.
 */
typedef int (*profile_part_fn)(void *ctx, const char *value, const struct profile *part);
int profile_split(const struct profile *profile, const char *label_key, profile_part_fn fn,
		  void *ctx);

/* The sum of values of a type; abs: of their absolute values. Sticks at the ends of int64_t. */
int64_t profile_total(const struct profile *profile, uint32_t type, bool absolute);

#endif
