// SPDX-License-Identifier: BSD-2-Clause
/* Names that are added to a profile later: what is kept, what is replaced, and what is added. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profile/renaming.h"
#include "profile_case.h"

#define ALL_NEEDS (RENAMING_NAME | RENAMING_SYMBOL | RENAMING_LINES | RENAMING_INLINES)

/* A profile with one location; NULL: without a function. */
static struct profile *one(const char *comment, const char *name, const char *system_name,
			   int64_t line)
{
	struct profile *profile = case_new("samples/count");
	struct profile_mapping mapping = {.start = 0x1000,
					  .limit = 0x2000,
					  .path = profile_string(profile, "/lib/libx.so"),
					  .build_id = profile_string(profile, "abcdef01")};
	struct profile_function function = {0};
	struct profile_line lines[1] = {{.line = line}};
	struct profile_location location = {.address = 0x1234, .lines = lines, .nr_lines = !!name};

	if (*comment)
		vec_push(&profile->comments, profile_string(profile, comment));
	location.mapping = profile_mapping_id(profile, &mapping);
	if (name) {
		function.name = profile_string(profile, name);
		function.system_name = profile_string(profile, system_name);
		function.path = line ? profile_string(profile, "x.c") : 0;
		lines[0].function = profile_function_id(profile, &function);
	}
	case_add_at(profile, profile_location_id(profile, &location), 1);
	return profile;
}

/* "name/system_name path:line;..." of the location, the innermost first. */
static char *text_of(const struct profile *profile)
{
	const struct profile_location *location = &profile->locations.at[0];
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (uint32_t i = 0; i < location->nr_lines; i++) {
		const struct profile_function *function =
			&profile->functions.at[location->lines[i].function - 1];

		fprintf(out, "%s%s/%s %s:%ld", i ? ";" : "",
			strtab_get(&profile->strings, function->name),
			strtab_get(&profile->strings, function->system_name),
			strtab_get(&profile->strings, function->path), location->lines[i].line);
	}
	fclose(out);
	return text;
}

static const struct renaming_frame symbol[] = {{"f()", "_Z1fv", "", 0, 0}};
static const struct renaming_frame lined[] = {{"f()", "_Z1fv", "f.cc", 7, 5}};
static const struct renaming_frame inlined[] = {{"in", "in", "in.h", 3, 1},
						{"f()", "_Z1fv", "f.cc", 7, 5}};
static const struct renaming_frame number[] = {{"libx.so+0x1200", "", "", 0, 0}};

#define GIVE(profile, frames) \
	renaming_apply(profile, &(profile)->locations.at[0], frames, ARRAY_LEN(frames))
#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* Frees the profile. */
#define assert_becomes(given, got, frames, expected)      \
	do {                                              \
		struct profile *at_ = (given);            \
		assert_int_equal(GIVE(at_, frames), got); \
		renaming_finish(at_);                     \
		assert_text(text_of(at_), expected);      \
		profile_free(at_);                        \
	} while (0)

static unsigned int needs(struct profile *profile)
{
	unsigned int need = renaming_needs(profile, &profile->locations.at[0]);

	profile_free(profile);
	return need;
}

static void test_needs(void **state)
{
	struct profile *profile = one("", "f", "f", 0);

	(void)state;
	assert_int_equal(needs(one("", NULL, "", 0)), ALL_NEEDS);
	assert_int_equal(needs(one("", "libx.so+0x1200", "", 0)), ALL_NEEDS & ~RENAMING_NAME);
	assert_int_equal(needs(one("", "libx.so+0x12 [guessed]", "", 0)),
			 ALL_NEEDS & ~RENAMING_NAME);
	for (size_t i = 0; i < 4; i++) {
		static const char *const symbols[][2] = {
			{"f", "f"}, {"f", ""}, {"liby.so+0x1200", ""}, {"libx.so+0x12y", ""}};

		assert_int_equal(needs(one("", symbols[i][0], symbols[i][1], 0)),
				 RENAMING_LINES | RENAMING_INLINES);
	}
	assert_int_equal(needs(one("cprof 0.1.0 record", "memmove", "", 0)),
			 ALL_NEEDS & ~RENAMING_NAME);
	assert_int_equal(needs(one("", "f", "f", 7)), RENAMING_INLINES);
	profile->mappings.at[0].has_inline_frames = true;
	assert_int_equal(needs(profile), RENAMING_LINES);
}

static void test_no_address_needs_nothing(void **state)
{
	struct profile *profile = one("", NULL, "", 0);

	(void)state;
	profile->locations.at[0].address = 0;
	assert_int_equal(renaming_needs(profile, &profile->locations.at[0]), 0);
	profile->locations.at[0].address = 0x1234;
	profile->locations.at[0].mapping = 0;
	assert_int_equal(needs(profile), 0);
}

static void test_a_name_where_there_is_none(void **state)
{
	(void)state;
	assert_becomes(one("", NULL, "", 0), RENAMING_NAME, number, "libx.so+0x1200/ :0");
	assert_becomes(one("", NULL, "", 0), RENAMING_NAME | RENAMING_SYMBOL, symbol,
		       "f()/_Z1fv :0");
	assert_becomes(one("", NULL, "", 0), ALL_NEEDS, inlined, "in/in in.h:3;f()/_Z1fv f.cc:7");
}

static void test_symbols_replace_what_was_made_up(void **state)
{
	(void)state;
	assert_becomes(one("", "libx.so+0x12", "", 0), RENAMING_SYMBOL, symbol, "f()/_Z1fv :0");
	assert_becomes(one("", "libx.so+0x12 [guessed]", "", 0), RENAMING_SYMBOL, symbol,
		       "f() [guessed]/_Z1fv :0");
	assert_becomes(one("", "libx.so+0x12", "", 0), 0, number, "libx.so+0x12/ :0");
	assert_becomes(one("cprof 0.1.0 heap", "memmove", "", 0), RENAMING_SYMBOL, symbol,
		       "f()/_Z1fv :0");
}

static void test_a_symbol_stays(void **state)
{
	(void)state;
	assert_becomes(one("", "g", "g", 0), 0, symbol, "g/g :0");
	assert_becomes(one("", "g", "g", 0), 0, number, "g/g :0");
	assert_becomes(one("", "g", "", 0), 0, symbol, "g/ :0");
}

static void test_lines_and_inlines_are_added(void **state)
{
	struct profile *profile = one("", "g", "g", 2);

	(void)state;
	assert_becomes(one("", "g", "g", 0), RENAMING_LINES, lined, "g/g f.cc:7");
	assert_becomes(one("", "g", "g", 2), 0, lined, "g/g x.c:2");
	assert_becomes(one("", "g", "g", 2), RENAMING_INLINES, inlined, "in/in in.h:3;g/g f.cc:7");
	assert_int_equal(GIVE(profile, inlined), RENAMING_INLINES);
	assert_int_equal(GIVE(profile, lined), 0);
	assert_int_equal(GIVE(profile, inlined), 0);
	assert_text(text_of(profile), "in/in in.h:3;g/g f.cc:7");
	profile_free(profile);
}

static void test_the_end(void **state)
{
	struct profile *profile = one("", "libx.so+0x12", "", 0);
	const struct profile_mapping *mapping = &profile->mappings.at[0];

	(void)state;
	GIVE(profile, inlined);
	renaming_finish(profile);
	assert_int_equal(profile->functions.nr, 2);
	assert_true(mapping->has_functions && mapping->has_filenames && mapping->has_line_numbers &&
		    mapping->has_inline_frames);
	assert_int_equal(profile->locations.at[0].address, 0x1234);
	assert_int_equal(mapping->start, 0x1000);
	profile_free(profile);
	profile = one("", NULL, "", 0);
	renaming_finish(profile);
	assert_false(profile->mappings.at[0].has_functions);
	profile_free(profile);
}

/* A file's functions and those that are added may be the same. */
static void test_no_function_twice(void **state)
{
	struct profile *profile = one("", "libx.so+0x12", "", 0);
	struct profile_location other = {.mapping = 1, .address = 0x1300};
	struct profile_function function = {.name = profile_string(profile, "f()"),
					    .system_name = profile_string(profile, "_Z1fv")};
	struct profile_line line = {0};

	(void)state;
	line.function = profile_function_id(profile, &function);
	other.lines = &line;
	other.nr_lines = 1;
	profile_location_id(profile, &other);
	hash_release(&profile->function_index); /* as the profile of a file is */
	GIVE(profile, symbol);
	assert_int_equal(profile->functions.nr, 3);
	renaming_finish(profile);
	assert_int_equal(profile->functions.nr, 1);
	assert_int_equal(profile->locations.at[1].lines[0].function, 1);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_no_address_needs_nothing),
		cmocka_unit_test(test_a_name_where_there_is_none),
		cmocka_unit_test(test_symbols_replace_what_was_made_up),
		cmocka_unit_test(test_a_symbol_stays),
		cmocka_unit_test(test_lines_and_inlines_are_added),
		cmocka_unit_test(test_the_end),
		cmocka_unit_test(test_no_function_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
