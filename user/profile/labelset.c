// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two steps. Adding notes the labels of each sample as pairs of small numbers (key, value). Making
 * decides which keys and values stay, and builds the sets from the pairs; while there are too many
 * sets it leaves out the key with the most values and builds them again, which is why the pairs
 * are kept.
 *
 * Texts are interned once for all profiles. While a profile is added, an array from its string ids
 * to keys spares comparing the texts of keys.
 */
#include "profile/labelset.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/unit.h"

/* More keys than that are not even looked at. */
#define MAX_MET_KEYS 64

/* Met --------------------------------------------------------------------------------------------- */

static uint32_t met_key(struct labelsets *sets, const char *name)
{
	uint32_t nr = sets->keys.nr;

	for (uint32_t i = 0; i < nr; i++)
		if (!strcmp(sets->keys.at[i].name, name))
			return i;
	if (nr == MAX_MET_KEYS)
		return MAX_MET_KEYS;
	vec_push(&sets->keys,
		 (struct labelset_key){
			 .met = nr,
			 .name = strtab_get(&sets->texts, strtab_intern(&sets->texts, name))});
	return nr;
}

struct met {
	uint32_t key;
	const char *text; /* of sets->texts: equal ones are the same */
};

static bool same_value(const void *ctx, uint32_t value, const void *wanted)
{
	const struct labelsets *sets = ctx;
	const struct met *met = wanted;
	const struct labelset_key *key = &sets->keys.at[met->key];

	return value < key->values.nr && key->values.at[value].text == met->text;
}

static uint32_t met_value(struct labelsets *sets, uint32_t key, const char *text)
{
	struct met met = {key, strtab_get(&sets->texts, strtab_intern(&sets->texts, text))};
	uint64_t code = hash_combine(hash_u64((uintptr_t)met.text), key);
	uint32_t value = hash_find(&sets->index, code, same_value, sets, &met);

	if (value != HASH_NONE)
		return value;
	value = sets->keys.at[key].values.nr;
	vec_push(&sets->keys.at[key].values, (struct labelset_value){.text = met.text});
	hash_insert(&sets->index, code, value);
	return value;
}

static const char *text_of(const struct profile *profile, const struct profile_label *label,
			   char number[UNIT_TEXT_BYTES])
{
	if (label->str)
		return strtab_get(&profile->strings, label->str);
	return unit_text(label->num,
			 label->num_unit ? strtab_get(&profile->strings, label->num_unit) : "count",
			 "auto", number);
}

static bool has_pair(const struct labelsets *sets, size_t from, uint32_t key)
{
	for (size_t i = from; i < sets->pairs.nr; i++)
		if (sets->pairs.at[i] >> 32 == key)
			return true;
	return false;
}

/* A sample's labels. A key that was seen lately is found by its string, and no text is compared. */
static void add_sample(struct labelsets *sets, const struct profile *profile,
		       const struct profile_sample *sample, uint32_t *key_of)
{
	size_t from = sets->pairs.nr;
	double weight = fabs((double)sample->values[sets->type]);

	for (uint32_t i = 0; i < sample->nr_labels; i++) {
		const struct profile_label *label = &sample->labels[i];
		char number[UNIT_TEXT_BYTES];
		uint32_t *known = &key_of[label->key], key, value;

		if (!*known)
			*known = 1 + met_key(sets, strtab_get(&profile->strings, label->key));
		key = *known - 1;
		if (key == MAX_MET_KEYS || has_pair(sets, from, key))
			continue;
		value = met_value(sets, key, text_of(profile, label, number));
		sets->keys.at[key].values.at[value].weight += weight;
		sets->keys.at[key].nr_samples++;
		vec_push(&sets->pairs, (uint64_t)key << 32 | value);
	}
}

void labelsets_add(struct labelsets *sets, const struct profile *profile)
{
	uint32_t *key_of scoped(freep) = xcalloc(strtab_nr(&profile->strings) + 1, sizeof(*key_of));

	vec_for_each(&profile->samples, sample) {
		vec_push(&sets->starts, sets->pairs.nr);
		add_sample(sets, profile, sample, key_of);
	}
}

/* Kept -------------------------------------------------------------------------------------------- */

static int compare_weights(const void *a, const void *b, void *ctx)
{
	const struct labelset_key *key = ctx;
	const struct labelset_value *p = &key->values.at[*(const uint32_t *)a],
				    *q = &key->values.at[*(const uint32_t *)b];

	if (p->weight != q->weight)
		return p->weight > q->weight ? -1 : 1;
	return strcmp(p->text, q->text);
}

static void order_values(struct labelset_key *key)
{
	size_t nr = key->values.nr;

	for (uint32_t i = 0; i < nr; i++)
		vec_push(&key->order, i);
	if (nr)
		qsort_r(key->order.at, nr, sizeof(*key->order.at), compare_weights, key);
	key->has_other = nr > LABELSET_MAX_VALUES;
	if (key->has_other)
		key->order.nr = LABELSET_MAX_VALUES;
	for (size_t i = 0; i < nr; i++)
		key->values.at[i].shown = LABELSET_MAX_VALUES + 1;
	for (size_t i = 0; i < key->order.nr; i++)
		key->values.at[key->order.at[i]].shown = i + 1;
}

static void key_release(struct labelset_key *key)
{
	vec_release(&key->values);
	vec_release(&key->order);
}

static bool same_set(const void *ctx, uint32_t set, const void *wanted)
{
	const struct labelsets *sets = ctx;
	size_t nr = sets->keys.nr;

	/* Without keys there is one set, and nothing to compare. */
	return !nr || !memcmp(sets->sets.at + set * nr, wanted, nr * sizeof(uint32_t));
}

/* The sets of all samples, by the keys that are left. False: they are too many. */
static bool make_sets(struct labelsets *sets)
{
	size_t nr = sets->keys.nr;
	uint32_t kept[MAX_MET_KEYS] = {0}; /* met key to position + 1 */
	uint32_t values[LABELSET_MAX_KEYS];
	struct hash index = {0};

	for (size_t i = 0; i < nr; i++)
		kept[sets->keys.at[i].met] = i + 1;
	sets->sets.nr = sets->set_of.nr = sets->nr_sets = 0;
	for (size_t i = 0; i + 1 < sets->starts.nr && sets->nr_sets <= LABELSET_MAX_SETS; i++) {
		uint64_t code;
		uint32_t set;

		memset(values, 0, sizeof(values));
		for (size_t j = sets->starts.at[i]; j < sets->starts.at[i + 1]; j++) {
			uint32_t at = kept[sets->pairs.at[j] >> 32];

			if (at)
				values[at - 1] = sets->keys.at[at - 1]
							 .values.at[(uint32_t)sets->pairs.at[j]]
							 .shown;
		}
		code = hash_bytes(values, nr * sizeof(*values), 0);
		set = hash_find(&index, code, same_set, sets, values);
		if (set == HASH_NONE) {
			set = sets->nr_sets++;
			hash_insert(&index, code, set);
			for (size_t j = 0; j < nr; j++)
				vec_push(&sets->sets, values[j]);
		}
		vec_push(&sets->set_of, set);
	}
	hash_release(&index);
	return sets->nr_sets <= LABELSET_MAX_SETS;
}

static void drop_key(struct labelsets *sets, size_t at)
{
	key_release(&sets->keys.at[at]);
	memmove(&sets->keys.at[at], &sets->keys.at[at + 1],
		(--sets->keys.nr - at) * sizeof(*sets->keys.at));
}

static void drop_largest(struct labelsets *sets)
{
	size_t largest = 0;

	for (size_t i = 1; i < sets->keys.nr; i++)
		if (sets->keys.at[i].values.nr >= sets->keys.at[largest].values.nr)
			largest = i;
	drop_key(sets, largest);
	sets->is_cut = true;
}

/* Until what is left fits. No set at all is one set. */
static void fit(struct labelsets *sets)
{
	while (sets->keys.nr > LABELSET_MAX_KEYS)
		drop_largest(sets);
	while (!make_sets(sets))
		drop_largest(sets);
}

bool labelsets_reduce(struct labelsets *sets)
{
	if (!sets->keys.nr)
		return false;
	drop_largest(sets);
	fit(sets);
	return true;
}

void labelsets_make(struct labelsets *sets)
{
	size_t nr_samples = sets->starts.nr;

	vec_push(&sets->starts, sets->pairs.nr);
	for (size_t i = sets->keys.nr; i-- > 0;) {
		struct labelset_key *key = &sets->keys.at[i];

		if (key->values.nr < 2 && key->nr_samples == nr_samples)
			drop_key(sets, i);
		else
			order_values(key);
	}
	fit(sets);
}

uint32_t labelsets_value(const struct labelsets *sets, size_t set, size_t key)
{
	uint32_t value = sets->sets.at[set * sets->keys.nr + key];

	return value > LABELSET_MAX_VALUES ? sets->keys.at[key].order.nr + 1 : value;
}

void labelsets_release(struct labelsets *sets)
{
	vec_for_each(&sets->keys, key)
		key_release(key);
	vec_release(&sets->keys);
	vec_release(&sets->sets);
	vec_release(&sets->set_of);
	vec_release(&sets->pairs);
	vec_release(&sets->starts);
	strtab_release(&sets->texts);
	hash_release(&sets->index);
}
