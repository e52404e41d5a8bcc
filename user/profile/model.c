// SPDX-License-Identifier: BSD-2-Clause
/*
 * Interning. For each kind of item a hash table of positions in that kind's array: a key is
 * compared field by field with the item itself, so that nothing is stored twice.
 *
 * A table need not know all that is in its array. Readers of files (input/) push items without
 * asking, since a file may say things twice and its ids must hold; changes in place drop the
 * tables (profile_forget_interned()). Then equal items stand there twice until profile_compact()
 * interns them: no function here may take "not in the table" for "not in the profile".
 *
 * What varies in length (lines, stacks, labels, values) is copied into the arena and freed with
 * it.
 */
#include "profile/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static uint64_t new_serial(void)
{
	static uint64_t nr_made;

	return __atomic_add_fetch(&nr_made, 1, __ATOMIC_RELAXED); /* files are read in threads */
}

struct profile *profile_new(void)
{
	struct profile *profile = xcalloc(1, sizeof(*profile));

	profile->serial = new_serial();
	return profile;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	arena_release(&profile->arena);
	strtab_release(&profile->strings);
	vec_release(&profile->mappings);
	vec_release(&profile->functions);
	vec_release(&profile->locations);
	vec_release(&profile->samples);
	vec_release(&profile->comments);
	vec_release(&profile->records);
	vec_release(&profile->maps);
	hash_release(&profile->mapping_index);
	hash_release(&profile->function_index);
	hash_release(&profile->location_index);
	hash_release(&profile->sample_index);
	free(profile);
}

uint32_t profile_string(struct profile *profile, const char *s)
{
	char small[512], *large scoped(freep) = NULL;
	size_t need = 4 * strlen(s) + 1; /* every byte may become "\xNN" */

	if (need <= sizeof(small))
		return strtab_intern(&profile->strings, text_to_utf8(s, small, sizeof(small)));
	large = xmalloc(need);
	return strtab_intern(&profile->strings, text_to_utf8(s, large, need));
}

void profile_add_type(struct profile *profile, const char *type, const char *unit)
{
	if (profile->nr_types == PROFILE_MAX_TYPES)
		abort(); /* a table in the source is too long, not anything that came in */
	profile->types[profile->nr_types++] = (struct value_type){
		.type = profile_string(profile, type),
		.unit = profile_string(profile, unit),
	};
}

void profile_set_period(struct profile *profile, const char *type, const char *unit, int64_t period)
{
	profile->period_type.type = profile_string(profile, type);
	profile->period_type.unit = profile_string(profile, unit);
	profile->period = period;
}

static uint64_t mapping_code(const struct profile_mapping *mapping)
{
	uint64_t code = hash_combine(mapping->start, mapping->limit);

	code = hash_combine(code, mapping->file_off);
	return hash_combine(code, (uint64_t)mapping->path << 32 | mapping->build_id);
}

static bool same_mapping(const void *ctx, uint32_t value, const void *key)
{
	const struct profile *profile = ctx;
	const struct profile_mapping *a = &profile->mappings.at[value], *b = key;

	return a->start == b->start && a->limit == b->limit && a->file_off == b->file_off &&
	       a->path == b->path && a->build_id == b->build_id;
}

uint32_t profile_mapping_id(struct profile *profile, const struct profile_mapping *mapping)
{
	uint64_t code = mapping_code(mapping);
	uint32_t i = hash_find(&profile->mapping_index, code, same_mapping, profile, mapping);

	if (i == HASH_NONE) {
		i = profile->mappings.nr;
		vec_push(&profile->mappings, *mapping);
		hash_insert(&profile->mapping_index, code, i);
	}
	return i + 1;
}

static bool same_function(const void *ctx, uint32_t value, const void *key)
{
	const struct profile *profile = ctx;
	const struct profile_function *a = &profile->functions.at[value], *b = key;

	return a->name == b->name && a->system_name == b->system_name && a->path == b->path &&
	       a->start_line == b->start_line;
}

uint32_t profile_function_id(struct profile *profile, const struct profile_function *function)
{
	uint64_t code = hash_combine((uint64_t)function->name << 32 | function->system_name,
				     hash_combine(function->path, function->start_line));
	uint32_t i = hash_find(&profile->function_index, code, same_function, profile, function);

	if (i == HASH_NONE) {
		i = profile->functions.nr;
		vec_push(&profile->functions, *function);
		hash_insert(&profile->function_index, code, i);
	}
	return i + 1;
}

/* Field by field: struct profile_line has padding. */
static bool same_lines(const struct profile_line *a, const struct profile_line *b, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (a[i].function != b[i].function || a[i].line != b[i].line ||
		    a[i].column != b[i].column)
			return false;
	return true;
}

static bool same_location(const void *ctx, uint32_t value, const void *key)
{
	const struct profile *profile = ctx;
	const struct profile_location *a = &profile->locations.at[value], *b = key;

	return a->mapping == b->mapping && a->address == b->address && a->nr_lines == b->nr_lines &&
	       a->is_folded == b->is_folded && same_lines(a->lines, b->lines, a->nr_lines);
}

static uint64_t location_code(const struct profile_location *location)
{
	uint64_t code = hash_combine(location->mapping, location->address);

	for (uint32_t i = 0; i < location->nr_lines; i++)
		code = hash_combine(hash_combine(code, location->lines[i].function),
				    location->lines[i].line);
	return code;
}

static void *copy_into(struct arena *arena, const void *bytes, size_t len_bytes)
{
	return len_bytes ? memcpy(arena_alloc(arena, len_bytes), bytes, len_bytes) : NULL;
}

uint32_t profile_location_id(struct profile *profile, const struct profile_location *location)
{
	uint64_t code = location_code(location);
	uint32_t i = hash_find(&profile->location_index, code, same_location, profile, location);
	struct profile_location copy = *location;

	if (i == HASH_NONE) {
		copy.lines = copy_into(&profile->arena, location->lines,
				       location->nr_lines * sizeof(*location->lines));
		i = profile->locations.nr;
		vec_push(&profile->locations, copy);
		hash_insert(&profile->location_index, code, i);
	}
	return i + 1;
}

static uint64_t sample_code(const struct profile_sample *sample)
{
	uint64_t code = hash_bytes(sample->locations,
				   sample->nr_locations * sizeof(*sample->locations), hash_key());

	for (uint32_t i = 0; i < sample->nr_labels; i++) {
		const struct profile_label *label = &sample->labels[i];

		code = hash_combine(code, (uint64_t)label->key << 32 | label->str);
		code = hash_combine(hash_combine(code, label->num), label->num_unit);
	}
	return code;
}

static bool same_sample(const void *ctx, uint32_t value, const void *key)
{
	const struct profile *profile = ctx;
	const struct profile_sample *a = &profile->samples.at[value], *b = key;

	if (a->nr_locations != b->nr_locations || a->nr_labels != b->nr_labels)
		return false;
	for (uint32_t i = 0; i < a->nr_locations; i++)
		if (a->locations[i] != b->locations[i])
			return false;
	for (uint32_t i = 0; i < a->nr_labels; i++)
		if (a->labels[i].key != b->labels[i].key || a->labels[i].str != b->labels[i].str ||
		    a->labels[i].num != b->labels[i].num ||
		    a->labels[i].num_unit != b->labels[i].num_unit)
			return false;
	return true;
}

int64_t profile_sum(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

size_t profile_add_sample(struct profile *profile, const struct profile_sample *sample)
{
	uint64_t code = sample_code(sample);
	uint32_t i = hash_find(&profile->sample_index, code, same_sample, profile, sample);
	struct profile_sample copy = *sample;

	if (i == HASH_NONE) {
		copy.locations = copy_into(&profile->arena, sample->locations,
					   sample->nr_locations * sizeof(*sample->locations));
		copy.labels = copy_into(&profile->arena, sample->labels,
					sample->nr_labels * sizeof(*sample->labels));
		copy.values =
			arena_alloc(&profile->arena, profile->nr_types * sizeof(*copy.values));
		if (sample->values)
			memcpy(copy.values, sample->values,
			       profile->nr_types * sizeof(*copy.values));
		hash_insert(&profile->sample_index, code, profile->samples.nr);
		vec_push(&profile->samples, copy);
		return profile->samples.nr - 1;
	}
	for (uint32_t type = 0; sample->values && type < profile->nr_types; type++)
		profile->samples.at[i].values[type] =
			profile_sum(profile->samples.at[i].values[type], sample->values[type]);
	return i;
}

void profile_set_main_mapping(struct profile *profile, uint32_t id)
{
	struct profile_mapping main_mapping;

	if (id <= 1 || id > profile->mappings.nr)
		return;
	main_mapping = profile->mappings.at[id - 1];
	memmove(&profile->mappings.at[1], &profile->mappings.at[0],
		(id - 1) * sizeof(main_mapping));
	profile->mappings.at[0] = main_mapping;

	hash_release(&profile->mapping_index);
	for (uint32_t i = 0; i < profile->mappings.nr; i++)
		hash_insert(&profile->mapping_index, mapping_code(&profile->mappings.at[i]), i);
	vec_for_each(&profile->locations, location) {
		if (location->mapping == id)
			location->mapping = 1;
		else if (location->mapping && location->mapping < id)
			location->mapping++;
	}
	/* Locations are known by the id of their mapping too. */
	hash_release(&profile->location_index);
	for (uint32_t i = 0; i < profile->locations.nr; i++)
		hash_insert(&profile->location_index, location_code(&profile->locations.at[i]), i);
}

bool profile_is_zero(const struct profile *profile, const struct profile_sample *sample)
{
	for (uint32_t type = 0; type < profile->nr_types; type++)
		if (sample->values[type])
			return false;
	return true;
}

size_t profile_drop_zero_samples(struct profile *profile)
{
	size_t nr_before = profile->samples.nr, nr = 0;
	bool is_interned = profile->sample_index.nr;

	for (size_t i = 0; i < nr_before; i++)
		if (!profile_is_zero(profile, &profile->samples.at[i]))
			profile->samples.at[nr++] = profile->samples.at[i];
	profile->samples.nr = nr;
	if (nr == nr_before || !is_interned)
		return nr_before - nr;
	hash_release(&profile->sample_index);
	for (size_t i = 0; i < nr; i++)
		hash_insert(&profile->sample_index, sample_code(&profile->samples.at[i]), i);
	return nr_before - nr;
}

void profile_forget_interned(struct profile *profile)
{
	hash_release(&profile->location_index);
	hash_release(&profile->sample_index);
	profile->serial = new_serial();
}
