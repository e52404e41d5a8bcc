// SPDX-License-Identifier: BSD-2-Clause
/*
 * Values are scaled as doubles, which are exact up to 2^53; the factors 1 and -1 are taken apart,
 * so that copies and differences are exact for all of int64_t. Sums are taken in 128 bits and cut
 * once at the end, so that the order of samples does not show.
 *
 * Samples that change their labels get new arrays in the arena: the old ones may be shared with
 * others.
 */
#include "profile/algebra.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* INT64_MAX is not a double: the nearest is one above. */
static int64_t rounded(double value)
{
	if (isnan(value))
		return 0;
	if (value >= 0x1p63)
		return INT64_MAX;
	return value < -0x1p63 ? INT64_MIN : (int64_t)round(value);
}

int64_t profile_scaled(int64_t value, double factor)
{
	if (factor == 1)
		return value;
	if (factor == -1)
		return value == INT64_MIN ? INT64_MAX : -value;
	return rounded(value * factor);
}

void profile_scale(struct profile *profile, double factor)
{
	double factors[PROFILE_MAX_TYPES];

	for (uint32_t i = 0; i < profile->nr_types; i++)
		factors[i] = factor;
	profile_scale_types(profile, factors);
}

void profile_scale_types(struct profile *profile, const double *factors)
{
	vec_for_each(&profile->samples, sample)
		for (uint32_t i = 0; i < profile->nr_types; i++)
			sample->values[i] = profile_scaled(sample->values[i], factors[i]);
	profile_drop_zero_samples(profile);
}

bool profile_same_type(const struct profile *a, const struct value_type *type_a,
		       const struct profile *b, const struct value_type *type_b)
{
	return !strcmp(strtab_get(&a->strings, type_a->type),
		       strtab_get(&b->strings, type_b->type)) &&
	       !strcmp(strtab_get(&a->strings, type_a->unit),
		       strtab_get(&b->strings, type_b->unit));
}

bool profile_same_types(const struct profile *a, const struct profile *b)
{
	if (a->nr_types != b->nr_types)
		return false;
	for (uint32_t i = 0; i < a->nr_types; i++)
		if (!profile_same_type(a, &a->types[i], b, &b->types[i]))
			return false;
	return true;
}

int profile_normalize(struct profile *source, const struct profile *base)
{
	double factors[PROFILE_MAX_TYPES];

	if (!profile_same_types(source, base))
		return -EINVAL;
	for (uint32_t i = 0; i < source->nr_types; i++) {
		int64_t from = profile_total(source, i, false);

		factors[i] = from ? (double)profile_total(base, i, false) / from : 1;
	}
	profile_scale_types(source, factors);
	return 0;
}

int profile_find_type(const struct profile *profile, const char *name)
{
	for (uint32_t i = 0; i < profile->nr_types; i++)
		if (!strcmp(strtab_get(&profile->strings, profile->types[i].type), name))
			return i;
	return -ENOENT;
}

uint32_t profile_main_type(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->nr_types; i++)
		if (profile->default_type && profile->types[i].type == profile->default_type)
			return i;
	return profile->nr_types - 1;
}

bool profile_has_negative(const struct profile *profile)
{
	vec_for_each(&profile->samples, sample)
		for (uint32_t i = 0; i < profile->nr_types; i++)
			if (sample->values[i] < 0)
				return true;
	return false;
}

size_t profile_drop_negative(struct profile *profile)
{
	size_t nr = 0;

	vec_for_each(&profile->samples, sample) {
		bool is_negative = false;

		for (uint32_t i = 0; i < profile->nr_types; i++) {
			is_negative |= sample->values[i] < 0;
			if (sample->values[i] < 0)
				sample->values[i] = 0;
		}
		nr += is_negative;
	}
	profile_drop_zero_samples(profile);
	return nr;
}

void profile_drop_label(struct profile *profile, const char *key)
{
	vec_for_each(&profile->samples, sample) {
		struct profile_label *labels =
			arena_alloc(&profile->arena, sample->nr_labels * sizeof(*labels));
		uint32_t nr = 0;

		for (uint32_t i = 0; i < sample->nr_labels; i++)
			if (strcmp(strtab_get(&profile->strings, sample->labels[i].key), key))
				labels[nr++] = sample->labels[i];
		sample->labels = labels;
		sample->nr_labels = nr;
	}
	profile_forget_interned(profile);
}

void profile_keep_types(struct profile *profile, const bool *keep)
{
	uint32_t nr = 0, order[PROFILE_MAX_TYPES];

	for (uint32_t i = 0; i < profile->nr_types; i++)
		if (keep[i])
			order[nr++] = i;
	profile_pick_types(profile, order, nr);
}

void profile_pick_types(struct profile *profile, const uint32_t *order, uint32_t nr)
{
	struct value_type types[PROFILE_MAX_TYPES];
	int64_t values[PROFILE_MAX_TYPES];

	memcpy(types, profile->types, sizeof(types));
	for (uint32_t i = 0; i < nr; i++)
		profile->types[i] = types[order[i]];
	vec_for_each(&profile->samples, sample) {
		memcpy(values, sample->values, profile->nr_types * sizeof(*values));
		for (uint32_t i = 0; i < nr; i++)
			sample->values[i] = values[order[i]];
	}
	profile->nr_types = nr;
	if (profile_find_type(profile, strtab_get(&profile->strings, profile->default_type)) < 0)
		profile->default_type = 0;
	profile_drop_zero_samples(profile);
}

void profile_set_label(struct profile *profile, const char *key, const char *value)
{
	const struct profile_label label = {.key = profile_string(profile, key),
					    .str = profile_string(profile, value)};

	vec_for_each(&profile->samples, sample) {
		struct profile_label *labels =
			arena_alloc(&profile->arena, (sample->nr_labels + 1) * sizeof(*labels));
		uint32_t nr = 0;

		for (uint32_t i = 0; i < sample->nr_labels; i++) {
			const struct profile_label *old = &sample->labels[i];

			if (!old->str || strcmp(strtab_get(&profile->strings, old->key), key))
				labels[nr++] = *old;
		}
		labels[nr++] = label;
		sample->labels = labels;
		sample->nr_labels = nr;
	}
	profile_forget_interned(profile);
}

int64_t profile_total(const struct profile *profile, uint32_t type, bool absolute)
{
	__int128 total = 0; /* more than 2^64 values would not fit into memory */

	vec_for_each(&profile->samples, sample) {
		__int128 value = sample->values[type];

		total += absolute && value < 0 ? -value : value;
	}
	if (total > INT64_MAX)
		return INT64_MAX;
	return total < INT64_MIN ? INT64_MIN : (int64_t)total;
}
