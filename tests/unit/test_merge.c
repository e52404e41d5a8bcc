// SPDX-License-Identifier: BSD-2-Clause
/* Merging profiles: equal samples, moved mappings, headers, saturation, and the difference of a profile to itself. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "profile/algebra.h"
#include "profile/merge.h"
#include "profile_case.h"

#define CPU "samples/count cpu/nanoseconds"

/* Frees both. */
static struct profile *merge_two(struct profile *a, struct profile *b)
{
	struct merger *merger = merger_new();

	assert_int_equal(merger_add(merger, a, NULL), 0);
	assert_int_equal(merger_add(merger, b, NULL), 0);
	profile_free(a);
	profile_free(b);
	return merger_finish(merger);
}

static void test_equal_samples_add_up(void **state)
{
	struct profile *a = case_new(CPU), *b = case_new(CPU), *merged;

	(void)state;
	/* Other ids on each side. */
	case_add(b, "main;h", "", 9, 90);
	case_add(a, "main;f,inl", "comm=sh pid#7", 1, 10);
	case_add(a, "main;g", "", 2, 20);
	case_add(b, "main;g", "", 3, 30);
	case_add(b, "main;f,inl", "comm=sh pid#7", 4, 40);
	case_add(b, "main;f,inl", "comm=sh pid#8", 5, 50);
	merged = merge_two(a, b);
	assert_case(merged, "main;f,inl comm=sh pid#7 5 50\n"
			    "main;g 5 50\n"
			    "main;h 9 90\n"
			    "main;f,inl comm=sh pid#8 5 50\n");
	assert_int_equal(merged->mappings.nr, 1);
	assert_int_equal(merged->functions.nr, 5);
	assert_int_equal(merged->locations.nr, 4);
	profile_free(merged);
}

static void test_labels_have_no_order(void **state)
{
	struct profile *a = case_new(CPU), *b = case_new(CPU), *merged;

	(void)state;
	case_add(a, "main", "comm=sh pid#7 bytes#64:bytes", 1, 10);
	case_add(b, "main", "bytes#64:bytes pid#7 comm=sh", 1, 10);
	/* Values of one key have one; units and kinds tell apart. */
	case_add(a, "main", "k=1 k=2", 1, 1);
	case_add(b, "main", "k=2 k=1", 1, 1);
	case_add(b, "main", "k#1 k#2", 1, 1);
	case_add(b, "main", "bytes#64:kilobytes", 1, 1);
	case_add(b, "main", "bytes#64", 1, 1);
	merged = merge_two(a, b);
	assert_case(merged, "main bytes#64:bytes comm=sh pid#7 2 20\n"
			    "main k=1 k=2 1 1\n"
			    "main k=2 k=1 1 1\n"
			    "main k#1 k#2 1 1\n"
			    "main bytes#64:kilobytes 1 1\n"
			    "main bytes#64 1 1\n");
	profile_free(merged);
}

static uint32_t mapping_at(struct profile *profile, uint64_t start, uint64_t size, const char *path,
			   const char *build_id)
{
	return profile_mapping_id(profile, &(struct profile_mapping){
						   .start = start,
						   .limit = start + size,
						   .file_off = 0x1000,
						   .path = profile_string(profile, path),
						   .build_id = profile_string(profile, build_id),
					   });
}

static void add_at(struct profile *profile, uint32_t mapping, uint64_t address)
{
	struct profile_location location = {.mapping = mapping, .address = address};

	case_add_at(profile, profile_location_id(profile, &location), 1, 1);
}

/* What one of two files lacks, all of the result's locations have not. */
static void test_flags_of_mappings(void **state)
{
	struct profile *a = case_new(CPU), *b = case_new(CPU), *merged;
	struct profile_mapping *flagged;
	uint32_t in_a = mapping_at(a, 0x10000, 0x2000, "/lib/x", "abc");
	uint32_t in_b = mapping_at(b, 0x70000, 0x2000, "/lib/x", "abc");
	uint32_t own = mapping_at(a, 0x90000, 0x1000, "/lib/y", "def");

	(void)state;
	flagged = &a->mappings.at[in_a - 1];
	flagged->has_functions = flagged->has_filenames = flagged->has_inline_frames = true;
	flagged = &b->mappings.at[in_b - 1];
	flagged->has_functions = flagged->has_line_numbers = flagged->has_inline_frames = true;
	add_at(a, in_a, 0x10010);
	mapping_at(b, 0x90000, 0x1000, "/lib/y", "def"); /* without a frame in it */
	a->mappings.at[own - 1].has_functions = true;
	add_at(a, own, 0x90010);
	add_at(b, in_b, 0x70020);
	merged = merge_two(a, b);
	flagged = &merged->mappings.at[0];
	assert_true(flagged->has_functions && flagged->has_inline_frames);
	assert_false(flagged->has_filenames || flagged->has_line_numbers);
	assert_true(merged->mappings.at[1].has_functions);
	profile_free(merged);
}

/* Address spaces are laid out at random: what counts is the place within the mapping. */
static void test_mappings_move(void **state)
{
	struct profile *a = case_new(CPU), *b = case_new(CPU), *merged;

	(void)state;
	add_at(a, mapping_at(a, 0x10000, 0x2000, "/lib/x", "abc"), 0x10010);
	add_at(b, mapping_at(b, 0x70000, 0x1801, "/mnt/lib/x", "abc"), 0x70010);
	add_at(b, mapping_at(b, 0x70000, 0x3000, "/lib/x", "abc"), 0x70010); /* another size */
	add_at(b, mapping_at(b, 0x90000, 0x2000, "/lib/x", ""), 0x90010);    /* known by its path */
	add_at(b, 0, 0x10010);						     /* in none */
	merged = merge_two(a, b);
	assert_int_equal(merged->mappings.nr, 3);
	assert_int_equal(merged->samples.nr, 4);
	assert_int_equal(merged->samples.at[0].values[0], 2);
	assert_int_equal(merged->locations.at[0].address, 0x10010);
	assert_string_equal(strtab_get(&merged->strings, merged->mappings.at[0].path), "/lib/x");
	assert_int_equal(merged->locations.at[3].mapping, 0);
	assert_int_equal(merged->locations.at[3].address, 0x10010);
	profile_free(merged);
}

/* Lower than its own start, and above: arithmetic modulo 2^64, as pprof's. */
static void test_mappings_move_at_the_ends(void **state)
{
	struct profile *a = case_new(CPU), *b = case_new(CPU), *merged;

	(void)state;
	add_at(a, mapping_at(a, 0x10000, 0x1000, "/lib/x", ""), 8);
	add_at(b, mapping_at(b, UINT64_MAX - 0xfff, 0x1000, "/lib/x", ""),
	       UINT64_MAX - 0xffff - 0xff7 + 8);
	merged = merge_two(a, b);
	assert_int_equal(merged->mappings.nr, 1);
	assert_int_equal(merged->samples.nr, 2);
	profile_free(merged);
}

/* pprof's key for a location drops the columns of all lines but the last. */
static void test_columns_tell_apart(void **state)
{
	struct profile *a = case_new(CPU), *compact;
	struct profile_function function = {.name = profile_string(a, "f")};
	struct profile_line lines[2] = {{.line = 1, .column = 1}, {.line = 2, .column = 2}};
	struct profile_location location = {.lines = lines, .nr_lines = 2};

	(void)state;
	lines[0].function = lines[1].function = profile_function_id(a, &function);
	for (int i = 0; i < 2; i++) {
		lines[0].column = i;
		case_add_at(a, profile_location_id(a, &location), 1, 1);
	}
	compact = profile_compact(a);
	assert_int_equal(compact->samples.nr, 2);
	profile_free(compact);
	profile_free(a);
}

static void test_headers(void **state)
{
	struct profile *a = case_new(CPU), *b = case_new(CPU), *merged;

	(void)state;
	a->time_ns = 0; /* unknown: whichever comes first, as pprof does not */
	b->time_ns = 100;
	a->duration_ns = INT64_MAX - 1;
	b->duration_ns = 5;
	a->period = 3;
	b->period = 7;
	a->doc_url = profile_string(a, "http://a");
	b->doc_url = profile_string(b, "http://b");
	b->default_type = profile_string(b, "cpu");
	a->drop_frames = profile_string(a, "malloc");
	b->keep_frames = profile_string(b, "keep");
	vec_push(&a->comments, profile_string(a, "one"));
	vec_push(&b->comments, profile_string(b, "two"));
	vec_push(&b->comments, profile_string(b, "one"));
	merged = merge_two(a, b);
	assert_int_equal(merged->time_ns, 100);
	assert_int_equal(merged->duration_ns, INT64_MAX);
	assert_int_equal(merged->period, 7);
	assert_string_equal(strtab_get(&merged->strings, merged->doc_url), "http://a");
	assert_string_equal(strtab_get(&merged->strings, merged->default_type), "cpu");
	assert_string_equal(strtab_get(&merged->strings, merged->drop_frames), "malloc");
	assert_int_equal(merged->keep_frames, 0);
	assert_int_equal(merged->comments.nr, 2);
	assert_string_equal(strtab_get(&merged->strings, merged->comments.at[1]), "two");
	profile_free(merged);
}

static void test_other_types_are_refused(void **state)
{
	struct profile *a = case_new(CPU), *b = case_new("samples/count"), *c = case_new(CPU),
		       *merged;
	struct merger *merger = merger_new();
	const char *why = NULL;

	(void)state;
	case_add(a, "main", "", 1, 1);
	case_add(b, "main", "", 1);
	profile_set_period(c, "cpu", "sec\x1b[2Jonds", 1);
	assert_int_equal(merger_add(merger, a, &why), 0);
	assert_int_equal(merger_add(merger, b, &why), -EINVAL);
	assert_string_equal(why,
			    "its list of sample types (samples/count) differs from that before "
			    "(samples/count cpu/nanoseconds)");
	assert_int_equal(merger_add(merger, c, &why), -EINVAL);
	assert_string_equal(why, "its period type (cpu/sec\\x1b[2Jonds) differs from that before "
				 "(cpu/nanoseconds)");
	merged = merger_finish(merger);
	assert_case(merged, "main 1 1\n");
	profile_free(merged);
	profile_free(a);
	profile_free(b);
	profile_free(c);
}

static void test_difference_to_itself(void **state)
{
	struct profile *a = case_new(CPU), *merged;
	struct merger *merger = merger_new();

	(void)state;
	case_add(a, "main;f", "comm=sh", 1, INT64_MIN);
	case_add(a, "main;g", "", 2, 7);
	assert_int_equal(merger_add(merger, a, NULL), 0);
	assert_int_equal(merger_add_scaled(merger, a, -1, NULL), 0);
	merged = merger_finish(merger);
	/* INT64_MIN has no counterpart; what only the other one needed is gone. */
	assert_case(merged, "main;f comm=sh 0 -1\n");
	assert_int_equal(merged->mappings.nr, 1);
	assert_int_equal(merged->functions.nr, 2);
	profile_free(merged);

	a->samples.at[0].values[1] = 5;
	merger = merger_new();
	assert_int_equal(merger_add(merger, a, NULL), 0);
	assert_int_equal(merger_add_scaled(merger, a, -1, NULL), 0);
	merged = merger_finish(merger);
	assert_case(merged, "");
	assert_int_equal(merged->mappings.nr, 1); /* the main binary stays */
	assert_int_equal(merged->locations.nr, 0);
	profile_free(merged);
	profile_free(a);
}

static void test_sums_stick(void **state)
{
	struct profile *a = case_new(CPU), *b = case_new(CPU), *merged;

	(void)state;
	case_add(a, "main", "", INT64_MAX, INT64_MIN);
	case_add(b, "main", "", 1, -1);
	merged = merge_two(a, b);
	assert_case(merged, "main 9223372036854775807 -9223372036854775808\n");
	profile_free(merged);
}

/* A file may say everything twice; the model never does, so it is put in by hand. */
static void test_compact_interns(void **state)
{
	struct profile *a = case_new(CPU), *compact, *again;
	uint32_t ids[2];
	int64_t values[] = {2, 20};

	(void)state;
	case_add(a, "main;f", "", 1, 10);
	case_add(a, "main;zero", "", 0, 0);
	ids[0] = a->samples.at[0].locations[0];
	vec_push(&a->functions, a->functions.at[0]);
	vec_push(&a->locations, a->locations.at[ids[0] - 1]);
	ids[0] = a->locations.nr;
	ids[1] = a->samples.at[0].locations[1];
	vec_push(&a->samples, (struct profile_sample){ids, NULL, values, 2, 0});
	compact = profile_compact(a);
	assert_case(compact, "main;f 3 30\n");
	assert_int_equal(compact->functions.nr, 2);
	assert_int_equal(compact->locations.nr, 2);
	again = profile_compact(compact);
	assert_case(again, "main;f 3 30\n");
	assert_int_equal(strtab_nr(&again->strings), strtab_nr(&compact->strings));
	profile_free(again);
	profile_free(compact);
	profile_free(a);
}

static void test_nothing(void **state)
{
	struct profile *empty = merger_finish(merger_new());

	(void)state;
	assert_int_equal(empty->samples.nr, 0);
	assert_int_equal(empty->nr_types, 0);
	profile_free(empty);
	merger_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_samples_add_up),
		cmocka_unit_test(test_labels_have_no_order),
		cmocka_unit_test(test_flags_of_mappings),
		cmocka_unit_test(test_mappings_move),
		cmocka_unit_test(test_mappings_move_at_the_ends),
		cmocka_unit_test(test_columns_tell_apart),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_other_types_are_refused),
		cmocka_unit_test(test_difference_to_itself),
		cmocka_unit_test(test_sums_stick),
		cmocka_unit_test(test_compact_interns),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
