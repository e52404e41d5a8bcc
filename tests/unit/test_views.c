// SPDX-License-Identifier: BSD-2-Clause
/* The views of a heap profile, and the two formats that hold it unscaled. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "output/legacy.h"
#include "output/text.h"
#include "unit/builder_case.h"

static void take_blocks(struct fixture *fixture, uint64_t id, uint64_t size, uint64_t nr_taken,
			uint64_t nr_freed)
{
	struct record record = own_record(id);

	record.size_bytes = size;
	take(fixture->builder, &record, nr_taken, nr_freed);
}

static const int64_t *values_of(const struct built *built)
{
	assert_int_equal(built->profile->samples.nr, 1);
	return built->profile->samples.at[0].values;
}

static void judge_view(struct fixture *fixture, const struct built *built, const char *types)
{
	judge_write(built->profile, fixture->file);
	judge_contract(fixture->file);
	judge_pprof_says("-raw", fixture->file, types);
}

static void test_in_use(void **state)
{
	struct fixture *fixture = *state;
	struct record other = own_record(2);
	struct built built;

	start(fixture, PROFILE_HEAP, false);
	take_blocks(fixture, 1, 1024, 4, 1);
	other.nr_user = 1; /* another stack, of which nothing is left */
	other.size_bytes = 100;
	take(fixture->builder, &other, 7, 7);
	built = build_view(fixture, NULL, VIEW_INUSE);
	assert_int_equal(built.nr_written, 3);
	assert_int_equal(built.nr_gone, 8);
	assert_int_equal(values_of(&built)[0], 0);
	assert_int_equal(values_of(&built)[1], 0);
	assert_int_equal(values_of(&built)[2], 1537);
	assert_int_equal(values_of(&built)[3], 1574400);
	assert_int_equal(built.profile->duration_ns, 0);
	judge_view(fixture, &built, "inuse_space/bytes[dflt]");
	profile_free(built.profile);
}

/* Counts of one epoch, with what BPF keeps of the last peak before the id was counted. */
static void take_life(struct fixture *fixture, uint64_t id, uint64_t nr_taken, uint64_t nr_freed,
		      uint64_t peak_ns, int64_t peak_live)
{
	struct count count = {.id = id,
			      .nr_taken = nr_taken,
			      .nr_freed = nr_freed,
			      .life = {.peak_ns = peak_ns, .peak_live = peak_live}};

	builder_count(fixture->builder, &count);
}

static uint64_t inuse_of(const struct built *built)
{
	uint64_t sum = 0;

	vec_for_each(&built->profile->samples, sample)
		sum += sample->values[2];
	return sum;
}

static void expect_peak(struct fixture *fixture, uint64_t at_ns, uint64_t nr)
{
	struct built built = build_view(fixture, NULL, VIEW_PEAK);

	assert_int_equal(built.peak.at_ns, at_ns);
	assert_int_equal(built.nr_written, nr);
	assert_int_equal(inuse_of(&built), nr);
	assert_int_equal(built.nr_written + built.nr_gone, builder_taken(fixture->builder));
	profile_free(built.profile);
}

/* Over several epochs: an id is as it was when it was counted last before the peak. */
static void test_at_the_peak(void **state)
{
	struct builder_options options = {.kind = PROFILE_HEAP, .period = 1};
	struct fixture *fixture = *state;
	struct record record = own_record(1), other = own_record(2);
	uint64_t now_ns = clock_monotonic_ns();
	struct peak peak = {.tgid = getpid(), .bytes = 1000, .at_ns = now_ns};

	fixture->builder = builder_new(&options, fixture->tasks);
	record.size_bytes = other.size_bytes = 100;
	other.nr_user = 1;
	builder_record(fixture->builder, &record);
	builder_record(fixture->builder, &other);
	take_life(fixture, 1, 10, 3, now_ns - 5, 2); /* 7 now, and at now_ns */
	take_life(fixture, 2, 3, 0, 0, 0);
	builder_peak(fixture->builder, &peak);
	expect_peak(fixture, now_ns, 7 + 3);
	take_life(fixture, 1, 1, 6, now_ns, 0); /* after the peak */
	take_life(fixture, 2, 9, 8, now_ns, 0);
	expect_peak(fixture, now_ns, 7 + 3);
	take_life(fixture, 1, 2, 0, now_ns, 0); /* again, in another epoch */
	expect_peak(fixture, now_ns, 7 + 3);
	take_life(fixture, 2, 5, 5, now_ns + 9,
		  4); /* after a new one: 4 + 4 at it, and 4 of the first */
	peak.bytes = 2000;
	peak.at_ns = now_ns + 9;
	builder_peak(fixture->builder, &peak);
	expect_peak(fixture, now_ns + 9, 4 + 8);
}

static void test_allocated(void **state)
{
	struct fixture *fixture = *state;
	struct built built;

	start(fixture, PROFILE_HEAP, false);
	take_blocks(fixture, 1, 1024, 4, 4);
	built = build_view(fixture, NULL, VIEW_ALLOC);
	assert_int_equal(built.profile->nr_types, 2);
	assert_int_equal(values_of(&built)[0], 2050);
	assert_int_equal(values_of(&built)[1], 2099200);
	judge_view(fixture, &built, "alloc_objects/count alloc_space/bytes[dflt]");
	profile_free(built.profile);
}

/*
 * Deltas of a stack with two sizes whose mixture changes, where a difference of values scaled by the
 * average size would be negative: each is what was counted in it, and they add up to the whole.
 */
static void test_deltas_add_up(void **state)
{
	static const uint64_t small[] = {5, 0, 1, 0, 3}, large[] = {0, 2, 0, 0, 1};
	struct fixture *fixture = *state;
	struct scale_sum sum = {0};
	uint64_t nr_written = 0;
	struct built built;

	start(fixture, PROFILE_HEAP, false);
	for (size_t i = 0; i < NR(small); i++) {
		take_blocks(fixture, 1, 100, small[i], 0);
		take_blocks(fixture, 2, 1 << 20, large[i], 0);
		built = build_view(fixture, NULL, VIEW_DELTA);
		assert_int_equal(built.nr_written, small[i] + large[i]);
		assert_int_equal(built.profile->samples.nr, small[i] + large[i] > 0);
		if (built.profile->samples.nr)
			judge_view(fixture, &built, "alloc_space/bytes[dflt] alloc_space_variance");
		sum.objects += built.alloc.objects;
		sum.bytes += built.alloc.bytes;
		sum.bytes_variance += built.alloc.bytes_variance;
		nr_written += built.nr_written;
		profile_free(built.profile);
		builder_mark(fixture->builder, MARK_DELTA);
	}
	built = build_view(fixture, NULL, VIEW_ALLOC);
	assert_int_equal(nr_written, built.nr_written);
	assert_true(fabs(sum.objects / built.alloc.objects - 1) < 1e-12);
	assert_true(fabs(sum.bytes / built.alloc.bytes - 1) < 1e-12);
	assert_true(fabs(sum.bytes_variance / built.alloc.bytes_variance - 1) < 1e-12);
	profile_free(built.profile);
}

/* Counted before its record came: it is in the delta in which it can be shown. */
static void test_delta_waits_for_the_record(void **state)
{
	struct fixture *fixture = *state;
	struct built built;

	start(fixture, PROFILE_HEAP, false);
	builder_count(fixture->builder, &(struct count){.id = 1, .nr_taken = 3});
	built = build_view(fixture, NULL, VIEW_DELTA);
	assert_int_equal(built.nr_written, 0);
	profile_free(built.profile);
	builder_mark(fixture->builder, MARK_DELTA);
	take_blocks(fixture, 1, 100, 2, 0);
	built = build_view(fixture, NULL, VIEW_DELTA);
	assert_int_equal(built.nr_written, 5);
	profile_free(built.profile);
}

/* The stacks of a heap profile's samples as "leaf < caller", joined by "; ". Borrowed until the next call. */
static const char *stacks_of(const struct profile *profile)
{
	static char text[1024];
	size_t used = 0;

	vec_for_each(&profile->samples, sample)
		for (uint32_t i = 0; i < sample->nr_locations; i++) {
			const struct profile_location *location =
				&profile->locations.at[sample->locations[i] - 1];
			uint32_t name = profile->functions.at[location->lines[0].function - 1].name;

			used += snprintf(text + used, sizeof(text) - used, "%s%s",
					 i	? " < "
					 : used ? "; "
						: "",
					 strtab_get(&profile->strings, name));
		}
	return text;
}

/* The C library's: a sanitizer has a malloc of its own. */
static uint64_t libc_malloc(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	return (uintptr_t)dlsym(libc, "malloc") + 1;
}

/* Blocks of a size from the stack of so many ips. */
static void take_from(struct fixture *fixture, uint64_t id, const uint64_t *ips, uint32_t nr)
{
	struct record record = own_record(id);

	record.size_bytes = 100;
	record.user_ips = ips;
	record.nr_user = nr;
	take(fixture->builder, &record, 1, 0);
}

/* malloc is no answer to who allocates; where there is no other, it stays. */
static void test_allocator_frames(void **state)
{
	const uint64_t in_malloc = libc_malloc();
	const uint64_t below[] = {user_ips[0], in_malloc, user_ips[1]},
		       twice[] = {in_malloc, in_malloc};
	const uint64_t own_root[] = {user_ips[0], in_malloc};
	struct fixture *fixture = *state;
	struct build_order order = {
		.time_ns = clock_realtime_ns(), .comment = "cprof test", .records = true};
	struct built built;

	start(fixture, PROFILE_HEAP, false);
	take_from(fixture, 1, below, 3);
	take_from(fixture, 2, twice, 2);
	take_from(fixture, 3, own_root, 2);
	builder_build(fixture->builder, fixture->symbolizer, &order, &built);
	/* What calls malloc is at the leaf; of two mallocs the outer one; what it was called by is not known. */
	assert_string_equal(stacks_of(built.profile),
			    "calling_function; malloc; leaf_function < malloc");
	assert_int_equal(built.profile->drop_frames, 0);
	assert_int_equal(built.profile->records.nr, 3);
	assert_int_equal(built.profile->records.at[0].nr_ips, 1);
	assert_int_equal(built.profile->records.at[0].call_ips[0], user_ips[1]);
	profile_free(built.profile);

	order.all_frames = true;
	builder_build(fixture->builder, fixture->symbolizer, &order, &built);
	assert_string_equal(stacks_of(built.profile),
			    "leaf_function < malloc < calling_function; malloc < "
			    "malloc; leaf_function < malloc");
	assert_true(built.profile->drop_frames > 0);
	profile_free(built.profile);
}

/* What the kernel could not tell to be one stack is one record. */
static void test_one_record_a_stack_and_size(void **state)
{
	struct fixture *fixture = *state;
	struct build_order order = {
		.time_ns = clock_realtime_ns(), .comment = "cprof test", .records = true};
	struct built built;

	start(fixture, PROFILE_HEAP, false);
	for (uint64_t id = 1; id <= 100; id++)
		take_blocks(fixture, id, id % 2 ? 100 : 200, 2, 1);
	order.process = builder_processes(fixture->builder, &(size_t){0})->process;
	builder_build(fixture->builder, fixture->symbolizer, &order, &built);
	assert_int_equal(built.profile->records.nr, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(built.profile->records.at[i].size_bytes, i ? 200 : 100);
		assert_int_equal(built.profile->records.at[i].nr_taken, 100);
		assert_int_equal(built.profile->records.at[i].nr_live, 50);
	}
	profile_free(built.profile);
}

/* Each window has what was counted in it, and all that is in use at its end. */
static void test_windows(void **state)
{
	struct fixture *fixture = *state;
	uint64_t nr_written, nr_gone;
	struct built built;

	start(fixture, PROFILE_HEAP, false);
	take_blocks(fixture, 1, 1 << 30, 4, 1);
	builder_mark(fixture->builder, MARK_WINDOW);
	take_blocks(fixture, 1, 1 << 30, 2, 0);
	built = build(fixture, NULL);
	assert_int_equal(values_of(&built)[0], 2);
	assert_int_equal(values_of(&built)[2], 5);
	assert_int_equal(built.nr_written, 2);
	profile_free(built.profile);
	builder_mark(fixture->builder, MARK_WINDOW);
	built = build(fixture, NULL);
	assert_int_equal(values_of(&built)[0], 0);
	assert_int_equal(values_of(&built)[2], 5);
	profile_free(built.profile);

	builder_sum(fixture->builder, VIEW_ALL, &nr_written, &nr_gone);
	assert_int_equal(nr_written, 0);
	builder_sum(fixture->builder, VIEW_DELTA, &nr_written, &nr_gone);
	assert_int_equal(nr_written, 6);
	builder_sum(fixture->builder, VIEW_INUSE, &nr_written, &nr_gone);
	assert_int_equal(nr_written, 5);
	assert_int_equal(nr_gone, 1);
}

static int to_text(void *ctx, const void *bytes, size_t len_bytes)
{
	return fwrite(bytes, 1, len_bytes, ctx) == len_bytes ? 0 : -EIO;
}

static const uint64_t call_ips[] = {0x1001, 0x2005};

/* Two sizes of one stack, and a stack that is not whole. */
static struct profile *legacy_profile(void)
{
	struct profile *profile = profile_new();
	static uint32_t locations[3];
	static const char *const names[] = {"malloc", "main", "[truncated: why]"};
	uint32_t app = profile_mapping_id(
		profile, &(struct profile_mapping){
				 .limit = 0x10000,
				 .path = profile_string(profile, "/usr/bin/the app"),
			 });

	for (uint32_t i = 0; i < NR(names); i++) {
		uint32_t name = profile_string(profile, names[i]);
		struct profile_line line = {
			.function = profile_function_id(
				profile,
				&(struct profile_function){.name = name, .system_name = name})};

		locations[i] = profile_location_id(
			profile,
			&(struct profile_location){
				.mapping = app, .address = i, .lines = &line, .nr_lines = 1});
	}
	profile_set_period(profile, "space", "bytes", 512);
	vec_push(&profile->records, (struct profile_record){call_ips, locations, 2, 2, 16, 5, 1});
	vec_push(&profile->records, (struct profile_record){call_ips, locations, 2, 3, 1000, 2, 2});
	vec_push(&profile->maps, (struct profile_map){0x1000, 0x3000, 0x1000, "/usr/bin/the app"});
	profile->memory = "VmRSS = 8 kB\nThreads = 1\n";
	return profile;
}

static void expect_text(int (*encode)(const struct profile *, uint32_t, sink_fn, void *),
			const struct profile *profile, const char *expected)
{
	char *text = NULL;
	size_t len;
	FILE *file = open_memstream(&text, &len);

	assert_int_equal(encode(profile, 0, to_text, file), 0);
	fclose(file);
	assert_string_equal(text, expected);
	free(text);
}

static void test_legacy(void **state)
{
	struct profile *profile = legacy_profile();

	(void)state;
	expect_text(legacy_encode, profile,
		    "heap profile: 3: 2016 [7: 2080] @ heap/1024\n"
		    "1: 16 [5: 80] @ 0x1001 0x2005\n"
		    "2: 2000 [2: 2000] @ 0x1001 0x2005\n"
		    "\n# memory of the process\n# VmRSS = 8 kB\n# Threads = 1\n"
		    "\nMAPPED_LIBRARIES:\n"
		    "00001000-00003000 r-xp 00001000 00:00 0 /usr/bin/the app\n");
	profile_free(profile);
}

static void test_text(void **state)
{
	struct profile *profile = legacy_profile();

	(void)state;
	profile->memory = NULL;
	expect_text(text_encode, profile,
		    "heap profile: 3: 2016 [7: 2080] @ heap/1024\n"
		    "2: 2000 [2: 2000] @ 0x1001 0x2005\n"
		    "#\t0x1000\tmalloc\tthe app\n"
		    "#\t0x2004\tmain\tthe app\n"
		    "#\t\t[truncated: why]\tthe app\n"
		    "1: 16 [5: 80] @ 0x1001 0x2005\n"
		    "#\t0x1000\tmalloc\tthe app\n"
		    "#\t0x2004\tmain\tthe app\n"
		    "\n# memory of the process: not known, it had ended\n");
	profile_free(profile);
}

static void test_sink_fails(void **state)
{
	struct profile *profile = legacy_profile();

	(void)state;
	for (int i = 0; i < 20000; i++) /* more than a buffer */
		vec_push(&profile->records, profile->records.at[i % 2]);
	assert_int_equal(legacy_encode(profile, 0, sink_disk, &(size_t){0}), -ENOSPC);
	assert_int_equal(text_encode(profile, 0, sink_disk, &(size_t){0}), -ENOSPC);
	profile_free(profile);
}

/* A large one, of this process: pprof reads it to the totals that scale gives each line. */
static void test_pprof_reads_legacy(void **state)
{
	struct fixture *fixture = *state;
	char words[128];
	struct scale_sum sum = {0};
	struct built built;
	FILE *file;

	start(fixture, PROFILE_HEAP, false);
	take_blocks(fixture, 1, 1024, 4, 1);
	built = build_view(fixture, NULL, VIEW_DELTA);
	file = fopen(fixture->file, "w");
	assert_non_null(file);
	assert_int_equal(legacy_encode(built.profile, 0, sink_stream, file), 0);
	fclose(file);
	scale_heap_add(&sum, 4, 1024, RATE_BYTES);
	snprintf(words, sizeof(words), "%ld    %ld          0          0",
		 (long)scale_round(sum.objects), (long)scale_round(sum.bytes));
	judge_pprof_says("-symbolize=none -raw", fixture->file, words);
	profile_free(built.profile);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_in_use),
		TEST(test_at_the_peak),
		TEST(test_allocated),
		TEST(test_deltas_add_up),
		TEST(test_delta_waits_for_the_record),
		TEST(test_windows),
		TEST(test_allocator_frames),
		TEST(test_one_record_a_stack_and_size),
		cmocka_unit_test(test_legacy),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_sink_fails),
		TEST(test_pprof_reads_legacy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
