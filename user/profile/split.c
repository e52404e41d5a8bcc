// SPDX-License-Identifier: BSD-2-Clause
/*
 * A part is a view of the whole with fewer samples, made compact. So that a label with many values
 * does not cost a look at every sample for each, samples are put in the order of their parts first:
 *
 *	samples  a b a - b	   turns  0 1 0 none 1
 *	sorted	 a a b b -	   starts of the parts 0, 2, 4
 */
#include "profile/split.h"

#include <stdlib.h>
#include <string.h>

#include "profile/merge.h"

struct value {
	uint32_t str, num_unit;
	int64_t num;
	size_t nr, start; /* samples, and where in the sorted ones they begin */
};

struct split {
	const struct profile *profile;
	vec_of(struct value) values; /* the last one, when all are found: no label */
	struct hash index;
	uint32_t *turns; /* of each sample: position in values */
	struct profile_sample *sorted;
};

static void split_release(struct split *split)
{
	vec_release(&split->values);
	hash_release(&split->index);
	free(split->turns);
	free(split->sorted);
}

static bool same_value(const void *ctx, uint32_t value, const void *key)
{
	const struct split *split = ctx;
	const struct value *a = &split->values.at[value], *b = key;

	return a->str == b->str && a->num_unit == b->num_unit && a->num == b->num;
}

/* A file may have a string twice: equal texts are equal values. */
static uint32_t canonical(struct split *split, struct strtab *strings, uint32_t string)
{
	return strtab_intern(strings, strtab_get(&split->profile->strings, string));
}

static const struct profile_label *find_label(const struct profile *profile,
					      const struct profile_sample *sample, const char *key)
{
	for (uint32_t i = 0; i < sample->nr_labels; i++)
		if (!strcmp(strtab_get(&profile->strings, sample->labels[i].key), key))
			return &sample->labels[i];
	return NULL;
}

static uint32_t turn_of(struct split *split, struct strtab *strings,
			const struct profile_label *label)
{
	struct value value = {.str = canonical(split, strings, label->str),
			      .num_unit = canonical(split, strings, label->num_unit),
			      .num = label->str ? 0 : label->num};
	uint64_t code = hash_combine((uint64_t)value.str << 32 | value.num_unit, value.num);
	uint32_t i = hash_find(&split->index, code, same_value, split, &value);

	if (i == HASH_NONE) {
		i = split->values.nr;
		vec_push(&split->values, value);
		hash_insert(&split->index, code, i);
	}
	return i;
}

static void find_values(struct split *split, struct strtab *strings, const char *key)
{
	const struct profile *profile = split->profile;

	split->turns = xcalloc(profile->samples.nr, sizeof(*split->turns));
	for (size_t i = 0; i < profile->samples.nr; i++) {
		const struct profile_label *label =
			find_label(profile, &profile->samples.at[i], key);

		split->turns[i] = label ? turn_of(split, strings, label) : HASH_NONE;
	}
	vec_push(&split->values, (struct value){0});
}

static void sort_samples(struct split *split)
{
	size_t nr_samples = split->profile->samples.nr, start = 0;

	for (size_t i = 0; i < nr_samples; i++) {
		if (split->turns[i] == HASH_NONE)
			split->turns[i] = split->values.nr - 1;
		split->values.at[split->turns[i]].nr++;
	}
	vec_for_each(&split->values, value) {
		value->start = start;
		start += value->nr;
		value->nr = 0;
	}
	split->sorted = xcalloc(nr_samples, sizeof(*split->sorted));
	for (size_t i = 0; i < nr_samples; i++) {
		struct value *value = &split->values.at[split->turns[i]];

		split->sorted[value->start + value->nr++] = split->profile->samples.at[i];
	}
}

static int give_part(const struct split *split, const struct strtab *strings,
		     const struct value *value, profile_part_fn fn, void *ctx)
{
	bool is_labelled = value != &split->values.at[split->values.nr - 1];
	struct profile view = *split->profile;
	struct profile *part;
	char *text scoped(freep) = NULL;
	int err;

	if (is_labelled && value->str)
		text = xstrdup(strtab_get(strings, value->str));
	else if (is_labelled)
		text = xasprintf("%ld%s", value->num, strtab_get(strings, value->num_unit));
	view.samples.at = split->sorted + value->start;
	view.samples.nr = value->nr;
	part = profile_compact(&view);
	err = fn(ctx, text, part);
	profile_free(part);
	return err;
}

int profile_split(const struct profile *profile, const char *label_key, profile_part_fn fn,
		  void *ctx)
{
	struct split split scoped(split_release) = {.profile = profile};
	struct strtab strings scoped(strtab_release) = {.index = {0}};
	int err = 0;

	find_values(&split, &strings, label_key);
	sort_samples(&split);
	for (size_t i = 0; !err && i < split.values.nr; i++)
		if (split.values.at[i].nr)
			err = give_part(&split, &strings, &split.values.at[i], fn, ctx);
	return err;
}
