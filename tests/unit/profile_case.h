/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Profiles written as text, for cmocka tests only: what is done to them can be read, and compared.
 *
 *	struct profile *p = case_new("samples/count cpu/nanoseconds");
 *	case_add(p, "main;f,inl;g", "comm=sh pid#7 bytes#4096:bytes", 1, 10);
 *	assert_case(p, "main;f,inl;g comm=sh pid#7 bytes#4096:bytes 1 10\n");
 *
 * The stack is root first, as folded stacks are; "f,inl" is one location: inl inlined into f. Each
 * function lives in NAME.c; all locations are in the mapping "/bin/case".
 */
#ifndef CPROF_TESTS_PROFILE_CASE_H
#define CPROF_TESTS_PROFILE_CASE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "profile/model.h"

#define CASE_MAX 64 /* frames, labels, lines of a location */

static inline struct profile *case_new(const char *types)
{
	struct profile *profile = profile_new();
	char *copy scoped(freep) = xstrdup(types), *save;

	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *slash = strchr(word, '/');

		*slash = '\0';
		profile_add_type(profile, word, slash + 1);
	}
	profile_set_period(profile, "cpu", "nanoseconds", 1);
	return profile;
}

static inline uint32_t case_mapping(struct profile *profile)
{
	return profile_mapping_id(profile, &(struct profile_mapping){
						   .start = 0x1000,
						   .limit = 0x100000,
						   .path = profile_string(profile, "/bin/case"),
						   .has_functions = true,
					   });
}

/* "f,inl": the location's address comes of its text, so that equal ones are equal. */
static inline uint32_t case_location(struct profile *profile, const char *text)
{
	struct profile_location location = {.mapping = case_mapping(profile)};
	struct profile_line lines[CASE_MAX] = {{0}};
	char *copy scoped(freep) = xstrdup(text), *save;

	location.address = 0x1000 + hash_bytes(text, strlen(text), 0) % 0xff000;
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		char path[256];
		struct profile_function function = {.name = profile_string(profile, word)};

		snprintf(path, sizeof(path), "%s.c", word);
		function.system_name = function.name;
		function.path = profile_string(profile, path);
		memmove(&lines[1], &lines[0], location.nr_lines++ * sizeof(lines[0]));
		lines[0] = (struct profile_line){
			.function = profile_function_id(profile, &function), .line = 7};
	}
	location.lines = lines;
	return profile_location_id(profile, &location);
}

static inline struct profile_label case_label(struct profile *profile, char *word)
{
	struct profile_label label = {0};
	char *value = strpbrk(word, "=#"), *unit = strchr(word, ':');
	bool is_number = *value == '#';

	*value++ = '\0';
	if (is_number && unit) {
		*unit++ = '\0';
		label.num_unit = profile_string(profile, unit);
	}
	label.key = profile_string(profile, word);
	if (is_number)
		label.num = strtoll(value, NULL, 10);
	else
		label.str = profile_string(profile, value);
	return label;
}

/* As many int64_t values follow as there are types; see case_add(). */
static inline void case_add_values(struct profile *profile, const char *stack, const char *labels,
				   int64_t *values)
{
	uint32_t locations[CASE_MAX];
	struct profile_label label[CASE_MAX];
	struct profile_sample sample = {.locations = locations, .labels = label, .values = values};
	char *copy scoped(freep) = xstrdup(stack), *save;
	char *words scoped(freep) = xstrdup(labels);

	for (char *word = strtok_r(copy, ";", &save); word; word = strtok_r(NULL, ";", &save)) {
		memmove(&locations[1], &locations[0], sample.nr_locations++ * sizeof(locations[0]));
		locations[0] = case_location(profile, word);
	}
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
		label[sample.nr_labels++] = case_label(profile, word);
	profile_add_sample(profile, &sample);
}

#define case_add(profile, stack, labels, ...) \
	case_add_values(profile, stack, labels, (int64_t[]){__VA_ARGS__})

/* A sample whose whole stack is this location. */
#define case_add_at(profile, location, ...)                                                      \
	profile_add_sample(profile, &(struct profile_sample){.locations = &(uint32_t){location}, \
							     .nr_locations = 1,                  \
							     .values = (int64_t[]){__VA_ARGS__}})

static inline void case_print_stack(FILE *out, const struct profile *profile,
				    const struct profile_sample *sample)
{
	for (uint32_t i = sample->nr_locations; i-- > 0;) {
		const struct profile_location *location =
			&profile->locations.at[sample->locations[i] - 1];

		for (uint32_t k = location->nr_lines; k-- > 0;) {
			uint32_t function = location->lines[k].function;
			const char *name =
				function ? strtab_get(&profile->strings,
						      profile->functions.at[function - 1].name)
					 : "?";

			fprintf(out, "%s%s", name, k ? "," : "");
		}
		fputs(i ? ";" : "", out);
	}
}

/* One line a sample, in their order; to be freed. */
static inline char *case_text(const struct profile *profile)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	vec_for_each(&profile->samples, sample) {
		case_print_stack(out, profile, sample);
		for (uint32_t i = 0; i < sample->nr_labels; i++) {
			const struct profile_label *label = &sample->labels[i];
			const char *unit = strtab_get(&profile->strings, label->num_unit);

			fprintf(out, " %s", strtab_get(&profile->strings, label->key));
			if (label->str)
				fprintf(out, "=%s", strtab_get(&profile->strings, label->str));
			else
				fprintf(out, "#%ld%s%s", label->num, *unit ? ":" : "", unit);
		}
		for (uint32_t i = 0; i < profile->nr_types; i++)
			fprintf(out, " %ld", sample->values[i]);
		fputc('\n', out);
	}
	fclose(out);
	return text;
}

/* Frees the text. */
#define assert_text(text, expected)                   \
	do {                                          \
		char *text_ scoped(freep) = text;     \
		assert_string_equal(text_, expected); \
	} while (0)

#define assert_case(profile, expected) assert_text(case_text(profile), expected)

#endif
