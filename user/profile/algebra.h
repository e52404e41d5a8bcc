/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arithmetic on a profile's values, and the choice of its sample types and labels, in place. With
 * merge.h it is an algebra: a heap profile's delta is merge(scale(first, -1), second).
 *
 * Values are rounded to nearest, halves away from zero, and saturate at the limits of int64_t. A sample is
 * dropped if all its values have become 0 (pprof's ScaleN also drops samples whose other values are not scaled).
 * Nothing else is removed: profile_compact() (merge.h) removes unused entries.
 *
 * Source: pprof's profile/profile.go and merge.go.
 */
#ifndef CPROF_PROFILE_ALGEBRA_H
#define CPROF_PROFILE_ALGEBRA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"

/* value * factor as above; exact for the factors 1 and -1. A factor that is not a number is 0. */
int64_t profile_scaled(int64_t value, double factor);

/* Multiplies all values of all samples by factor, as profile_scaled() does. */
void profile_scale(struct profile *profile, double factor);
/* The same with one factor for each sample type: factors has profile->nr_types of them. */
void profile_scale_types(struct profile *profile, const double *factors);
/*
 * Scales each type of source so that its sum is that of base's type of the same position; a type
 * whose sum is 0 is not changed. -EINVAL: their sample types are not the same.
 */
int profile_normalize(struct profile *source, const struct profile *base);

/* Whether these types of two profiles have the same type and unit. */
bool profile_same_type(const struct profile *a, const struct value_type *type_a,
		       const struct profile *b, const struct value_type *type_b);
/* Whether they have the same sample types in the same order. */
bool profile_same_types(const struct profile *a, const struct profile *b);
/* The position of the sample type with this name, or -ENOENT. */
int profile_find_type(const struct profile *profile, const char *name);
/* The position of the type that is shown first: the profile's default_type, or else the last one. */
uint32_t profile_main_type(const struct profile *profile);
/* Whether any value is below 0, as in a difference. */
bool profile_has_negative(const struct profile *profile);
/* Makes negative values 0, and drops samples left with 0s. Returns how many samples had one. */
size_t profile_drop_negative(struct profile *profile);
/* Removes the labels of this key from all samples. */
void profile_drop_label(struct profile *profile, const char *key);
/* Keeps the types for which keep[i] is true (of nr_types); at least one. Drops samples left with 0s. */
void profile_keep_types(struct profile *profile, const bool *keep);

/* The same, in the order given: nr different positions of types, at least one. */
void profile_pick_types(struct profile *profile, const uint32_t *order, uint32_t nr);

/* Gives every sample the string label key=value, and removes its other labels of this key. */
void profile_set_label(struct profile *profile, const char *key, const char *value);

/* The sum of values of a type; absolute: of their absolute values. Saturates at the limits of int64_t. */
int64_t profile_total(const struct profile *profile, uint32_t type, bool absolute);

#endif
