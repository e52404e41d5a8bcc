// SPDX-License-Identifier: BSD-2-Clause
/* Files of profile.proto, read by protoc, go tool pprof and the checker of the contract. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output/pprof.h"
#include "profile.pb-c.h"
#include "temp.h"
#include "unit/judge.h"

static char *path; /* of what was written last */

static int set_up(void **state)
{
	(void)state;
	path = temp_path("p.pb.gz");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(path);
	return 0;
}

/* A CPU profile of two stacks, main > work > kernel and main > work, with all there is in it. */
static struct profile *small_profile(void)
{
	struct profile *profile = profile_new();
	struct profile_mapping app = {.start = 0x1000, .limit = 0x3000, .file_off = 0x1000};
	struct profile_mapping kernel = {.start = 1ull << 63, .limit = UINT64_MAX};
	struct profile_function work = {.start_line = 0}, main_function = {.start_line = 0};
	struct profile_function syscall = {.start_line = 0};
	struct profile_line lines[2] = {0};
	struct profile_location location = {.lines = lines, .nr_lines = 1};
	struct profile_label labels[2] = {0};
	struct profile_sample sample = {.labels = labels, .nr_labels = 2};
	uint32_t ids[3];

	profile_add_type(profile, "samples", "count");
	profile_add_type(profile, "cpu", "nanoseconds");
	profile_set_period(profile, "cpu", "nanoseconds", 10);
	profile->default_type = profile_string(profile, "cpu");
	profile->time_ns = 1700000000123456789;
	profile->duration_ns = 2000000000;
	vec_push(&profile->comments, profile_string(profile, "cprof test"));

	app.path = profile_string(profile, "/nonexistent/app");
	app.build_id = profile_string(profile, "abcd");
	app.has_functions = app.has_line_numbers = app.has_filenames = true;
	app.has_inline_frames = true;
	kernel.path = profile_string(profile, "[kernel.kallsyms]");
	kernel.has_functions = true;
	main_function.name = main_function.system_name = profile_string(profile, "main");
	main_function.path = profile_string(profile, "app.c");
	main_function.start_line = 5;
	work.name = profile_string(profile, "work(int)");
	work.system_name = profile_string(profile, "_Z4worki");
	syscall.name = syscall.system_name = profile_string(profile, "do_syscall_64");

	location.mapping = profile_mapping_id(profile, &app);
	location.address = 0x1100; /* work is inlined into main here */
	lines[0].function = profile_function_id(profile, &work);
	lines[1] = (struct profile_line){profile_function_id(profile, &main_function), 7, 0};
	location.nr_lines = 2;
	ids[2] = profile_location_id(profile, &location);
	location.address = 0x1200;
	location.nr_lines = 1;
	ids[1] = profile_location_id(profile, &location);
	location.mapping = profile_mapping_id(profile, &kernel);
	location.address = UINT64_MAX - 15;
	lines[0].function = profile_function_id(profile, &syscall);
	ids[0] = profile_location_id(profile, &location);

	labels[0] = (struct profile_label){.key = profile_string(profile, "pid"), .num = 42};
	labels[1] = (struct profile_label){.key = profile_string(profile, "comm"),
					   .str = profile_string(profile, "app")};
	sample.locations = ids;
	sample.nr_locations = 3;
	sample.values = (int64_t[]){2, 20};
	profile_add_sample(profile, &sample);
	sample.locations = ids + 1;
	sample.nr_locations = 2;
	sample.values = (int64_t[]){1ll << 40, 10ll << 40};
	profile_add_sample(profile, &sample);
	return profile;
}

static void test_protoc_reads_it(void **state)
{
	static const char expected[] =
		"sample_type { type: 1 unit: 2 } sample_type { type: 3 unit: 4 } "
		"sample { location_id: 3 location_id: 2 location_id: 1 value: 2 value: 20 "
		"label { key: 14 num: 42 } label { key: 15 str: 16 } } "
		"sample { location_id: 2 location_id: 1 value: 1099511627776 "
		"value: 10995116277760 label { key: 14 num: 42 } label { key: 15 str: 16 } } "
		"mapping { id: 1 memory_start: 4096 memory_limit: 12288 file_offset: 4096 "
		"filename: 6 build_id: 7 has_functions: true has_filenames: true "
		"has_line_numbers: true has_inline_frames: true } "
		"mapping { id: 2 memory_start: 9223372036854775808 "
		"memory_limit: 18446744073709551615 filename: 8 has_functions: true } "
		"location { id: 1 mapping_id: 1 address: 4352 line { function_id: 1 } "
		"line { function_id: 2 line: 7 } } "
		"location { id: 2 mapping_id: 1 address: 4608 line { function_id: 1 } } "
		"location { id: 3 mapping_id: 2 address: 18446744073709551600 "
		"line { function_id: 3 } } "
		"function { id: 1 name: 11 system_name: 12 } "
		"function { id: 2 name: 9 system_name: 9 filename: 10 start_line: 5 } "
		"function { id: 3 name: 13 system_name: 13 } "
		"string_table: \"\" string_table: \"samples\" string_table: \"count\" "
		"string_table: \"cpu\" string_table: \"nanoseconds\" "
		"string_table: \"cprof test\" string_table: \"/nonexistent/app\" "
		"string_table: \"abcd\" string_table: \"[kernel.kallsyms]\" "
		"string_table: \"main\" string_table: \"app.c\" string_table: \"work(int)\" "
		"string_table: \"_Z4worki\" string_table: \"do_syscall_64\" "
		"string_table: \"pid\" string_table: \"comm\" "
		"string_table: \"app\" "
		"time_nanos: 1700000000123456789 duration_nanos: 2000000000 "
		"period_type { type: 3 unit: 4 } period: 10 comment: 5 default_sample_type: 3 ";
	struct profile *profile = small_profile();
	const char *tests = TESTS_DIR;
	char *command scoped(freep) = NULL, *said scoped(freep) = NULL;
	int status;

	(void)state;
	judge_write(profile, path);
	profile_free(profile);
	if (!judge_has("protoc"))
		skip();
	command = xasprintf("gzip -dc %s | protoc --decode=perftools.profiles.Profile "
			    "-I %s/../proto profile.proto | tr -s ' \\n' ' '",
			    path, tests);
	said = judge_run(command, &status);
	assert_string_equal(said, expected);
}

static void test_the_contract_holds(void **state)
{
	struct profile *profile = small_profile();

	(void)state;
	judge_write(profile, path);
	profile_free(profile);
	judge_contract(path);
}

static void test_pprof_reads_it_in_silence(void **state)
{
	struct profile *profile = small_profile();

	(void)state;
	judge_write(profile, path);
	profile_free(profile);
	judge_pprof_says("-raw", path, "PeriodType: cpu nanoseconds\nPeriod: 10\n");
	judge_pprof_says("-raw", path,
			 "0x1000/0x3000/0x1000 /nonexistent/app abcd [FN][FL][LN][IN]");
	judge_pprof_says("-top -nodefraction=0 -sample_index=samples", path, "do_syscall_64");
	judge_pprof_says(
		"-traces -sample_index=samples", path,
		"2   do_syscall_64\n             work(int)\n             work(int) (inline)\n"
		"             main\n");
	judge_pprof_says("-tags", path, "42");
}

static void test_equal_profiles_are_equal_files(void **state)
{
	struct profile *a = small_profile(), *b = small_profile();
	char *other scoped(freep) = xasprintf("%s.2", path);
	char *compare scoped(freep) = xasprintf("cmp %s %s", path, other);

	(void)state;
	judge_write(a, path);
	judge_write(b, other);
	profile_free(a);
	profile_free(b);
	assert_int_equal(system(compare), 0);
	unlink(other);
}

struct failing_sink {
	size_t nr_calls, nr_bytes, fail_at;
};

static int sink_failing(void *ctx, const void *bytes, size_t len_bytes)
{
	struct failing_sink *sink = ctx;

	(void)bytes;
	assert_true(len_bytes > 0);
	sink->nr_bytes += len_bytes;
	return sink->nr_calls++ == sink->fail_at ? -ENOSPC : 0;
}

/* Enough that deflate cannot keep it, and that it gets its thread: distinct addresses that a small generator draws. */
static struct profile *large_profile(size_t nr_samples)
{
	struct profile *profile = small_profile();
	uint64_t dice = 1;

	for (size_t i = 0; i < nr_samples; i++) {
		struct profile_line line = {.function = 1};
		struct profile_location location = {.mapping = 2, .lines = &line, .nr_lines = 1};
		struct profile_sample sample = {.nr_locations = 1, .values = (int64_t[]){1, 10}};
		uint32_t id;

		dice = dice * 6364136223846793005ull + 1442695040888963407ull;
		location.address = dice | 1ull << 63;
		id = profile_location_id(profile, &location);
		sample.locations = &id;
		profile_add_sample(profile, &sample);
	}
	return profile;
}

static void test_the_sinks_error_ends_it(void **state)
{
	struct profile *profile = large_profile(50000);
	struct failing_sink whole = {.fail_at = SIZE_MAX};

	(void)state;
	assert_int_equal(pprof_encode(profile, sink_failing, &whole), 0);
	assert_true(whole.nr_calls > 2);
	for (size_t at = 0; at < whole.nr_calls; at++) {
		struct failing_sink sink = {.fail_at = at};

		assert_int_equal(pprof_encode(profile, sink_failing, &sink), -ENOSPC);
		assert_int_equal(sink.nr_calls, at + 1); /* not called again after its error */
	}
	profile_free(profile);
}

static void test_many_chunks_are_one_member(void **state)
{
	struct profile *profile = large_profile(50000);
	const char *tests = TESTS_DIR;
	char *command scoped(freep) = NULL, *said scoped(freep) = NULL;
	int status;

	(void)state;
	judge_write(profile, path);
	profile_free(profile);
	if (!judge_has("python3"))
		skip();
	command = xasprintf("cd %s && python3 -c 'from contract import *; p = load(\"%s\"); "
			    "print(len(p[\"samples\"]), total(p, \"samples\"))'",
			    tests, path);
	said = judge_run(command, &status);
	assert_string_equal(said, "50002 1099511677778\n");
}

/* The judge itself: it must find what it is there to find. */
static void test_the_checker_checks(void **state)
{
	const char *tests = TESTS_DIR;
	char *command scoped(freep) =
		xasprintf("python3 %s/contract.py --self-test >/dev/null", tests);

	(void)state;
	if (!judge_has("python3"))
		skip();
	assert_int_equal(system(command), 0);
}

struct bytes {
	uint8_t at[1 << 16];
	size_t nr;
};

static int gather(void *ctx, const void *bytes, size_t len_bytes)
{
	struct bytes *to = ctx;

	assert_true(len_bytes <= sizeof(to->at) - to->nr);
	memcpy(to->at + to->nr, bytes, len_bytes);
	to->nr += len_bytes;
	return 0;
}

/* Samples of every shape, whose numbers are as long as numbers get. */
static void add_odd_samples(struct profile *profile)
{
	const uint32_t location = profile->samples.at[0].locations[0];
	const int64_t extremes[] = {0, 1, 127, 128, 16383, 16384, -1, INT64_MAX, INT64_MIN};
	uint32_t stack[300];
	uint32_t key = profile_string(profile, "key"), text = profile_string(profile, "text");

	for (size_t i = 0; i < 300; i++)
		stack[i] = location;
	for (size_t i = 0; i < sizeof(extremes) / sizeof(*extremes); i++) {
		const struct profile_label labels[] = {{.key = key, .num = extremes[i]},
						       {.key = key, .str = text},
						       {.num = 1, .num_unit = text}};
		int64_t values[] = {extremes[i], extremes[8 - i]};

		profile_add_sample(profile, &(struct profile_sample){.locations = stack,
								     .labels = labels,
								     .values = values,
								     .nr_locations = i * i * 4,
								     .nr_labels = i % 4});
	}
}

/* Samples are packed by hand: protobuf-c reads them and packs the very same bytes. */
static void test_packed_as_protobuf_c_does(void **state)
{
	struct profile *profile = small_profile();
	struct bytes *ours = calloc(1, sizeof(*ours));
	uint8_t *theirs;
	Perftools__Profiles__Profile *read;

	(void)state;
	add_odd_samples(profile);
	assert_int_equal(pprof_encode_plain(profile, gather, ours), 0);
	read = perftools__profiles__profile__unpack(NULL, ours->nr, ours->at);
	assert_non_null(read);
	assert_int_equal(read->n_sample, profile->samples.nr);
	assert_int_equal(perftools__profiles__profile__get_packed_size(read), ours->nr);
	theirs = malloc(ours->nr);
	perftools__profiles__profile__pack(read, theirs);
	assert_memory_equal(theirs, ours->at, ours->nr);
	perftools__profiles__profile__free_unpacked(read, NULL);
	free(theirs);
	free(ours);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_protoc_reads_it),
		cmocka_unit_test(test_the_contract_holds),
		cmocka_unit_test(test_pprof_reads_it_in_silence),
		cmocka_unit_test(test_equal_profiles_are_equal_files),
		cmocka_unit_test(test_the_sinks_error_ends_it),
		cmocka_unit_test(test_many_chunks_are_one_member),
		cmocka_unit_test(test_the_checker_checks),
		cmocka_unit_test(test_packed_as_protobuf_c_does),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
