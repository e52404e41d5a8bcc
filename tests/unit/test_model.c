// SPDX-License-Identifier: BSD-2-Clause
/* The tables of a profile in memory: strings, functions, locations, samples and their limits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "profile/model.h"

static int set_up(void **state)
{
	struct profile *profile = profile_new();

	profile_add_type(profile, "samples", "count");
	profile_add_type(profile, "cpu", "nanoseconds");
	*state = profile;
	return 0;
}

static int tear_down(void **state)
{
	profile_free(*state);
	return 0;
}

static uint32_t location_at(struct profile *profile, uint32_t mapping, uint64_t address,
			    const char *name)
{
	struct profile_function function = {.name = profile_string(profile, name),
					    .system_name = profile_string(profile, name)};
	struct profile_line line = {.function = profile_function_id(profile, &function)};
	struct profile_location location = {
		.mapping = mapping, .address = address, .lines = &line, .nr_lines = 1};

	return profile_location_id(profile, &location);
}

static void add(struct profile *profile, uint32_t location, int64_t pid, int64_t count)
{
	struct profile_label label = {.key = profile_string(profile, "pid"), .num = pid};
	struct profile_sample sample = {.locations = &location,
					.nr_locations = 1,
					.labels = &label,
					.nr_labels = 1,
					.values = (int64_t[]){count, count * 10}};

	profile_add_sample(profile, &sample);
}

static void test_strings_are_utf8(void **state)
{
	struct profile *profile = *state;
	char long_name[3001], expected[12001] = "";

	assert_int_equal(profile_string(profile, ""), 0);
	assert_string_equal(strtab_get(&profile->strings, profile_string(profile, "a\xff")),
			    "a\\xff");
	assert_int_equal(profile_string(profile, "gr\xc3\xbc\xc3\x9f"),
			 profile_string(profile, "gr\xc3\xbc\xc3\x9f"));
	/* Beyond the small buffer, and four times as long afterwards. */
	memset(long_name, '\xfe', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	for (size_t i = 0; i + 1 < sizeof(long_name); i++)
		memcpy(expected + 4 * i, "\\xfe", 5);
	assert_string_equal(strtab_get(&profile->strings, profile_string(profile, long_name)),
			    expected);
}

static void test_equal_things_have_one_id(void **state)
{
	struct profile *profile = *state;
	struct profile_mapping mapping = {.start = 0x1000,
					  .limit = 0x2000,
					  .file_off = 0x1000,
					  .path = profile_string(profile, "/bin/x"),
					  .has_functions = true};
	struct profile_mapping again = mapping;

	assert_int_equal(profile_mapping_id(profile, &mapping), 1);
	again.has_functions = false; /* no part of its identity, and not taken over */
	assert_int_equal(profile_mapping_id(profile, &again), 1);
	assert_true(profile->mappings.at[0].has_functions);
	again.build_id = profile_string(profile, "ab");
	assert_int_equal(profile_mapping_id(profile, &again), 2);

	assert_int_equal(location_at(profile, 1, 0x1100, "f"), 1);
	assert_int_equal(location_at(profile, 1, 0x1100, "f"), 1);
	assert_int_equal(location_at(profile, 1, 0x1101, "f"), 2);
	assert_int_equal(location_at(profile, 2, 0x1100, "f"), 3);
	assert_int_equal(location_at(profile, 1, 0x1100, "g"), 4);
	assert_int_equal(profile->functions.nr, 2);
	assert_int_equal(profile->locations.at[3].lines[0].function, 2);
}

static void test_lines_tell_locations_apart(void **state)
{
	struct profile *profile = *state;
	struct profile_line lines[] = {{1, 10, 0}, {2, 20, 0}};
	struct profile_location location = {.mapping = 1, .address = 1, .lines = lines};

	location.nr_lines = 2;
	assert_int_equal(profile_location_id(profile, &location), 1);
	location.nr_lines = 1;
	assert_int_equal(profile_location_id(profile, &location), 2);
	location.nr_lines = 2;
	lines[1].line = 21; /* the profile has a copy of the old ones */
	assert_int_equal(profile_location_id(profile, &location), 3);
	assert_int_equal(profile->locations.at[0].lines[1].line, 20);
}

static void test_samples_add_up(void **state)
{
	struct profile *profile = *state;
	uint32_t a = location_at(profile, 1, 1, "a"), b = location_at(profile, 1, 2, "b");

	add(profile, a, 1, 1);
	add(profile, b, 1, 2);
	add(profile, a, 1, 3);
	add(profile, a, 2, 4);
	assert_int_equal(profile->samples.nr, 3);
	assert_int_equal(profile->samples.at[0].values[0], 4);
	assert_int_equal(profile->samples.at[0].values[1], 40);
	assert_int_equal(profile->samples.at[1].values[0], 2);
	assert_int_equal(profile->samples.at[2].values[0], 4);
	assert_int_equal(profile->samples.at[2].labels[0].num, 2);
}

static void test_sums_stick(void **state)
{
	struct profile *profile = *state;
	uint32_t a = location_at(profile, 1, 1, "a");
	struct profile_sample sample = {.locations = &a,
					.nr_locations = 1,
					.values = (int64_t[]){INT64_MAX - 1, INT64_MIN + 1}};

	profile_add_sample(profile, &sample);
	sample.values[0] = 2;
	sample.values[1] = -2;
	profile_add_sample(profile, &sample);
	assert_int_equal(profile->samples.nr, 1);
	assert_true(profile->samples.at[0].values[0] == INT64_MAX);
	assert_true(profile->samples.at[0].values[1] == INT64_MIN);
}

static void test_main_mapping_moves_first(void **state)
{
	struct profile *profile = *state;
	struct profile_mapping mapping = {.limit = 1};
	char name[16];

	for (uint32_t i = 1; i <= 4; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		mapping.path = profile_string(profile, name);
		assert_int_equal(profile_mapping_id(profile, &mapping), i);
		assert_int_equal(location_at(profile, i, 0, name), i);
	}
	profile_set_main_mapping(profile, 3);
	for (uint32_t i = 0; i < 4; i++) {
		const struct profile_location *location = &profile->locations.at[i];

		/* Location i is still in mapping "m<i + 1>", and is found under its new id. */
		snprintf(name, sizeof(name), "m%u", i + 1);
		assert_string_equal(strtab_get(&profile->strings,
					       profile->mappings.at[location->mapping - 1].path),
				    name);
		assert_int_equal(location_at(profile, location->mapping, 0, name), i + 1);
		mapping.path = profile_string(profile, name);
		assert_int_equal(profile_mapping_id(profile, &mapping), location->mapping);
	}
	assert_int_equal(profile->mappings.nr, 4);
	assert_int_equal(profile->locations.nr, 4);
	assert_string_equal(strtab_get(&profile->strings, profile->mappings.at[0].path), "m3");
}

static void test_zero_samples_are_dropped(void **state)
{
	struct profile *profile = *state;
	uint32_t a = location_at(profile, 1, 1, "a"), b = location_at(profile, 1, 2, "b");

	add(profile, a, 1, 0);
	add(profile, b, 1, 5);
	add(profile, a, 2, 0);
	assert_int_equal(profile_drop_zero_samples(profile), 2);
	assert_int_equal(profile->samples.nr, 1);
	add(profile, b, 1, 1); /* still found, at its new place */
	add(profile, a, 1, 1);
	assert_int_equal(profile->samples.nr, 2);
	assert_int_equal(profile->samples.at[0].values[0], 6);
}

static void test_serials_differ(void **state)
{
	struct profile *profile = *state, *other;
	uint64_t serial = profile->serial;

	profile_free(profile);
	other = profile_new(); /* likely at the same address */
	assert_true(other->serial != serial);
	*state = other;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_strings_are_utf8),
		TEST(test_equal_things_have_one_id),
		TEST(test_lines_tell_locations_apart),
		TEST(test_samples_add_up),
		TEST(test_sums_stick),
		TEST(test_main_mapping_moves_first),
		TEST(test_zero_samples_are_dropped),
		TEST(test_serials_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
