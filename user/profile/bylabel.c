// SPDX-License-Identifier: BSD-2-Clause
/*
 * The ids of strings that equal the key are marked first (a file may have a string twice), and
 * labels are compared by id. Each value becomes a function with a location of its own, in no
 * mapping; stacks are copied with that location put at their end.
 */
#include "profile/bylabel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By the number of a string: is it the key? Files may have it several times. */
static bool *match_strings(const struct profile *profile, const char *key)
{
	bool *matches = xcalloc(strtab_nr(&profile->strings), sizeof(*matches));

	vec_for_each(&profile->samples, sample)
		for (uint32_t i = 0; i < sample->nr_labels; i++) {
			uint32_t id = sample->labels[i].key;

			matches[id] = !strcmp(strtab_get(&profile->strings, id), key);
		}
	return matches;
}

static bool has_label(const struct profile_sample *sample, const bool *matches)
{
	for (uint32_t i = 0; i < sample->nr_labels; i++)
		if (matches[sample->labels[i].key])
			return true;
	return false;
}

/* "a,b", or a word for none; owned by the caller. */
static char *value_of(const struct profile *profile, const struct profile_sample *sample,
		      const bool *matches, const char *key)
{
	const struct strtab *strings = &profile->strings;
	char *text = NULL;

	for (uint32_t i = 0; i < sample->nr_labels; i++) {
		const struct profile_label *label = &sample->labels[i];
		char *before scoped(freep) = text, number[24] = "";
		const char *gap = text ? "," : "";

		if (!matches[label->key]) {
			before = NULL;
			continue;
		}
		if (!label->str)
			snprintf(number, sizeof(number), "%ld", label->num);
		text = xasprintf("%s%s%s%s", text ? text : "", gap, number,
				 strtab_get(strings, label->str ? label->str : label->num_unit));
	}
	return text ? text : xasprintf("[no %s]", key);
}

/* The location whose only frame is called so; frames are those that were made before. */
static uint32_t location_of(struct profile *profile, const char *name)
{
	struct profile_function function = {.name = profile_string(profile, name)};
	struct profile_line line;
	struct profile_location location = {.lines = &line, .nr_lines = 1};

	function.system_name = function.name;
	line = (struct profile_line){.function = profile_function_id(profile, &function)};
	return profile_location_id(profile, &location);
}

static void put_frame(struct profile *profile, struct profile_sample *sample, uint32_t location,
		      bool alone)
{
	uint32_t nr = alone ? 0 : sample->nr_locations;
	uint32_t *locations = arena_alloc(&profile->arena, (nr + 1) * sizeof(*locations));

	if (nr)
		memcpy(locations, sample->locations, nr * sizeof(*locations));
	locations[nr] = location;
	sample->locations = locations;
	sample->nr_locations = nr + 1;
}

int profile_by_label(struct profile *profile, const char *key, bool alone)
{
	bool *matches scoped(freep) = match_strings(profile, key);
	size_t nr = 0;

	vec_for_each(&profile->samples, sample)
		nr += has_label(sample, matches);
	if (!nr)
		return -ENOENT;
	profile_forget_interned(profile);
	vec_for_each(&profile->samples, sample) {
		char *value scoped(freep) = value_of(profile, sample, matches, key);

		put_frame(profile, sample, location_of(profile, value), alone);
	}
	profile_forget_interned(profile);
	return 0;
}

char *profile_label_keys(const struct profile *profile, char *out, size_t out_bytes)
{
	struct strtab known scoped(strtab_release) = {.index = {0}};
	size_t len = 0;

	*out = '\0';
	vec_for_each(&profile->samples, sample)
		for (uint32_t i = 0; i < sample->nr_labels && len < out_bytes; i++) {
			const char *key = strtab_get(&profile->strings, sample->labels[i].key);
			size_t nr = strtab_nr(&known);

			if (strtab_intern(&known, key) >= nr)
				len += snprintf(out + len, out_bytes - len, "%s%s", len ? ", " : "",
						key);
		}
	return out;
}
