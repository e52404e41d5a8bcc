// SPDX-License-Identifier: BSD-2-Clause
/* Profiles that protoc encodes from text, read. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "input/input.h"
#include "profile_judge.h"
#include "temp.h"
#include "unit/judge.h"

struct bytes {
	uint8_t at[1 << 16];
	size_t len;
};

static const char strings[] =
	"string_table: '' string_table: 'cpu' string_table: 'nanoseconds' string_table: '/bin/app' "
	"string_table: 'leaf' string_table: '_Z4leafv' string_table: 'leaf.c' string_table: 'abcd' "
	"string_table: 'bytes' string_table: 'a comment' string_table: 'https://example.org/' ";

/* What protoc makes of a profile in text format. */
static void encode(const char *text, struct bytes *bytes)
{
	const char *tests = TESTS_DIR;
	int fd;
	char *in scoped(freep) = temp_file(&fd);
	char *command scoped(freep) =
		xasprintf("protoc --proto_path=%s/../proto --encode=perftools.profiles.Profile "
			  "profile.proto <%s",
			  tests, in);
	FILE *pipe;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	bytes->len = fread(bytes->at, 1, sizeof(bytes->at), pipe);
	assert_int_equal(pclose(pipe), 0);
	assert_true(bytes->len > 0);
}

static struct profile *parse(const struct bytes *bytes)
{
	struct profile *profile = NULL;
	enum input_format format = INPUT_UNKNOWN;
	struct input_error error;

	if (input_parse(bytes->at, bytes->len, &input_default_limits, &profile, &format, &error))
		fail_msg("%s", error.message);
	assert_int_equal(format, INPUT_PPROF);
	assert_null(profile_judge(profile));
	return profile;
}

static const char *text_of(const struct profile *profile, uint32_t id)
{
	return strtab_get(&profile->strings, id);
}

static void test_every_field(void **state)
{
	struct bytes bytes;
	struct profile *profile;
	const struct profile_sample *sample;
	const struct profile_location *location;
	const struct profile_mapping *mapping;
	char *text scoped(freep) = xasprintf(
		"%s sample_type { type: 1 unit: 2 } sample_type { type: 8 unit: 8 } "
		"sample { location_id: [70, 9] value: [-5, 6] label { key: 1 str: 4 } "
		"         label { key: 8 num: -3 num_unit: 8 } label { key: 9 num: 7 } label { "
		"key: 9 } } "
		"sample { value: [1, 2] } "
		"mapping { id: 12 memory_start: 4096 memory_limit: 8192 file_offset: 512 filename: "
		"3 "
		"          build_id: 7 has_functions: true has_line_numbers: true } "
		"location { id: 9 mapping_id: 12 address: 4100 is_folded: true "
		"           line { function_id: 5 line: 7 column: 3 } line { function_id: 5 line: "
		"-8 } } "
		"location { id: 70 mapping_id: 99 } "
		"function { id: 5 name: 4 system_name: 5 filename: 6 start_line: 2 } "
		"drop_frames: 4 keep_frames: 5 time_nanos: 1700000000000000001 duration_nanos: 3 "
		"period_type { type: 1 unit: 2 } period: 11 comment: [9, 9] default_sample_type: 8 "
		"doc_url: 10",
		strings);

	(void)state;
	encode(text, &bytes);
	profile = parse(&bytes);
	assert_int_equal(profile->nr_types, 2);
	assert_string_equal(text_of(profile, profile->types[0].type), "cpu");
	assert_string_equal(text_of(profile, profile->types[1].unit), "bytes");
	assert_string_equal(text_of(profile, profile->period_type.unit), "nanoseconds");
	assert_string_equal(text_of(profile, profile->default_type), "bytes");
	assert_string_equal(text_of(profile, profile->drop_frames), "leaf");
	assert_string_equal(text_of(profile, profile->keep_frames), "_Z4leafv");
	assert_string_equal(text_of(profile, profile->doc_url), "https://example.org/");
	assert_int_equal(profile->comments.nr, 2); /* said twice, kept twice */
	assert_string_equal(text_of(profile, profile->comments.at[1]), "a comment");
	assert_int_equal(profile->time_ns, 1700000000000000001);
	assert_int_equal(profile->duration_ns, 3);
	assert_int_equal(profile->period, 11);

	assert_int_equal(profile->mappings.nr, 1);
	mapping = &profile->mappings.at[0];
	assert_int_equal(mapping->start, 4096);
	assert_int_equal(mapping->limit, 8192);
	assert_int_equal(mapping->file_off, 512);
	assert_string_equal(text_of(profile, mapping->path), "/bin/app");
	assert_string_equal(text_of(profile, mapping->build_id), "abcd");
	assert_true(mapping->has_functions && mapping->has_line_numbers);
	assert_false(mapping->has_filenames || mapping->has_inline_frames);

	assert_int_equal(profile->functions.nr, 1);
	assert_string_equal(text_of(profile, profile->functions.at[0].name), "leaf");
	assert_string_equal(text_of(profile, profile->functions.at[0].system_name), "_Z4leafv");
	assert_string_equal(text_of(profile, profile->functions.at[0].path), "leaf.c");
	assert_int_equal(profile->functions.at[0].start_line, 2);

	assert_int_equal(profile->locations.nr, 2);
	location = &profile->locations.at[0];
	assert_int_equal(location->mapping, 1);
	assert_int_equal(location->address, 4100);
	assert_true(location->is_folded);
	assert_int_equal(location->nr_lines, 2);
	assert_int_equal(location->lines[0].function, 1);
	assert_int_equal(location->lines[0].line, 7);
	assert_int_equal(location->lines[0].column, 3);
	assert_int_equal(location->lines[1].line, -8);
	assert_int_equal(profile->locations.at[1].mapping, 0); /* one that is not there is none */

	assert_int_equal(profile->samples.nr, 2);
	sample = &profile->samples.at[0];
	assert_int_equal(sample->nr_locations, 2);
	assert_int_equal(sample->locations[0], 2);
	assert_int_equal(sample->locations[1], 1);
	assert_int_equal(sample->values[0], -5);
	assert_int_equal(sample->values[1], 6);
	assert_int_equal(sample->nr_labels, 3); /* the last one said nothing */
	assert_string_equal(text_of(profile, sample->labels[0].str), "leaf");
	assert_int_equal(sample->labels[1].num, -3);
	assert_string_equal(text_of(profile, sample->labels[1].num_unit), "bytes");
	assert_int_equal(sample->labels[2].num, 7);
	assert_int_equal(sample->labels[2].num_unit, 0);
	assert_int_equal(profile->samples.at[1].nr_locations, 0);
	assert_int_equal(profile->samples.at[1].values[1], 2);
	profile_free(profile);
}

/* What a file says twice stays, in its order; strings that are equal are one. */
static void test_duplicates(void **state)
{
	struct bytes bytes;
	struct profile *profile;
	char *text scoped(freep) =
		xasprintf("%s string_table: 'cpu' sample_type { type: 11 unit: 2 } "
			  "function { id: 1 name: 4 } function { id: 2 name: 4 } "
			  "sample { value: 1 } sample { value: 1 } sample { value: 0 }",
			  strings);

	(void)state;
	encode(text, &bytes);
	profile = parse(&bytes);
	assert_int_equal(profile->functions.nr, 2);
	assert_int_equal(profile->samples.nr, 3);
	assert_int_equal(profile->types[0].type, 1);
	profile_free(profile);
}

/* No C string can hold a NUL: it is spelled out, and different strings stay different. */
static void test_nul_in_a_string(void **state)
{
	struct bytes bytes;
	struct profile *profile;
	char *text scoped(freep) = xasprintf("%s string_table: 'a\\0b' string_table: 'a\\0c' "
					     "sample_type { type: 11 unit: 12 }",
					     strings);

	(void)state;
	encode(text, &bytes);
	profile = parse(&bytes);
	assert_string_equal(text_of(profile, profile->types[0].type), "a\\x00b");
	assert_string_equal(text_of(profile, profile->types[0].unit), "a\\x00c");
	profile_free(profile);
}

/* An error names the damaged byte, and nothing is returned. */
static void test_offsets(void **state)
{
	struct bytes bytes;
	struct profile *profile = (struct profile *)&bytes;
	struct input_error error;
	char *text scoped(freep) =
		xasprintf("%s sample_type { type: 1 unit: 2 } "
			  "sample { value: 1 location_id: 3 } location { id: 4 }",
			  strings);

	(void)state;
	encode(text, &bytes);
	assert_int_equal(
		input_parse(bytes.at, bytes.len, &input_default_limits, &profile, NULL, &error),
		-EBADMSG);
	assert_ptr_equal(profile, (struct profile *)&bytes);
	assert_string_equal(error.message,
			    "sample 0: it refers to location 3, which does not exist");
	assert_int_equal(error.line, 0);
	/* protoc writes fields by number, packed: tag and length of the id stand before it */
	assert_memory_equal(bytes.at + error.offset - 2, "\x01\x03", 2);
}

static size_t gzip(const void *from, size_t len, uint8_t *to, size_t room)
{
	z_stream zlib = {0};

	assert_int_equal(deflateInit2(&zlib, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	zlib.next_in = (Bytef *)from;
	zlib.avail_in = len;
	zlib.next_out = to;
	zlib.avail_out = room;
	assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
	deflateEnd(&zlib);
	return room - zlib.avail_out;
}

/* Each limit refuses what is beyond it and takes what is not. */
static void test_limits(void **state)
{
	struct bytes bytes, zipped;
	struct input_limits limits = input_default_limits;
	struct profile *profile;
	struct input_error error;
	char *text scoped(freep) =
		xasprintf("%s sample_type { type: 1 unit: 2 } sample { value: 1 } "
			  "sample { value: 2 }",
			  strings);

	(void)state;
	encode(text, &bytes);
	zipped.len = gzip(bytes.at, bytes.len, zipped.at, sizeof(zipped.at));

	limits.max_items = 10;
	assert_int_equal(input_parse(bytes.at, bytes.len, &limits, &profile, NULL, &error), -EFBIG);
	assert_string_equal(error.message, "has more than 10 strings");
	limits.max_items = 11;
	assert_int_equal(input_parse(bytes.at, bytes.len, &limits, &profile, NULL, &error), 0);
	profile_free(profile);

	limits.max_memory_bytes = 100;
	assert_int_equal(input_parse(bytes.at, bytes.len, &limits, &profile, NULL, &error), -EFBIG);
	limits.max_memory_bytes = 10000;
	assert_int_equal(input_parse(bytes.at, bytes.len, &limits, &profile, NULL, &error), 0);
	profile_free(profile);

	limits.max_inflated_bytes = bytes.len - 1;
	assert_int_equal(input_parse(zipped.at, zipped.len, &limits, &profile, NULL, &error),
			 -EFBIG);
	limits.max_inflated_bytes = bytes.len;
	assert_int_equal(input_parse(zipped.at, zipped.len, &limits, &profile, NULL, &error), 0);
	profile_free(profile);
}

static void test_mistaken_files(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *words;
	} files[] = {
#define FILE_OF(text, words) {text, sizeof(text) - 1, words}
		FILE_OF("PERFILE2\x68\0\0\0", "perf script"),
		FILE_OF("\177ELF\2\1\1\0", "ELF"),
		FILE_OF("<!DOCTYPE html>\n<html>\n", "drawn from"),
		FILE_OF("<?xml version=\"1.0\"?>\n<svg>\n", "drawn from"),
		FILE_OF("{\"$schema\":\"https://www.speedscope.app/x.json\"}", "made from"),
		FILE_OF("goroutine 1 [running]:\nmain.main()\n", "debug=1"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct input_error error = {0};
		struct profile *profile;

		assert_int_equal(input_parse(files[i].bytes, files[i].len, &input_default_limits,
					     &profile, NULL, &error),
				 -EBADMSG);
		assert_non_null(strstr(error.message, files[i].words));
	}
}

/* 20 MB of zeros in 20 KB: refused by the ratio, before all of it is inflated. */
static void test_bomb(void **state)
{
	const size_t len = 20 << 20;
	uint8_t *zeros scoped(freep) = xcalloc(1, len);
	struct bytes zipped;
	struct profile *profile;
	struct input_error error;

	(void)state;
	zipped.len = gzip(zeros, len, zipped.at, sizeof(zipped.at));
	assert_int_equal(
		input_parse(zipped.at, zipped.len, &input_default_limits, &profile, NULL, &error),
		-EFBIG);
	assert_non_null(strstr(error.message, "bomb"));
	assert_true(error.offset < zipped.len);
}

static void test_files(void **state)
{
	int fd;
	char *path scoped(freep) = temp_file(&fd);
	struct bytes bytes;
	struct input_limits limits = input_default_limits;
	struct profile *profile;
	struct input_error error;

	(void)state;
	encode("string_table: ''", &bytes);
	assert_int_equal(write(fd, bytes.at, bytes.len), bytes.len);
	close(fd);
	assert_int_equal(input_read(path, &limits, &profile, NULL, &error), 0);
	profile_free(profile);
	limits.max_file_bytes = bytes.len - 1;
	assert_int_equal(input_read(path, &limits, &profile, NULL, &error), -EFBIG);
	unlink(path);
	assert_int_equal(input_read(path, &limits, &profile, NULL, &error), -ENOENT);
	assert_string_equal(error.message, "No such file or directory");
	assert_int_equal(error.offset, INPUT_NO_OFFSET);
	assert_int_equal(input_read("/tmp", &limits, &profile, NULL, &error), -EISDIR);
}

#define NR_MANY	     120000 /* two threads read so many */
#define SAMPLE_BYTES 18
#define LOCATION_AT  17

static const uint8_t many_head[] = {
	0x32, 0, 0x32, 1, 'k',	   /* strings: "", "k" */
	0x0a, 4, 0x08, 1, 0x10, 1, /* a sample type */
	0x22, 2, 0x08, 1,	   /* location 1 */
};

static void put_three(uint8_t *at, uint32_t number)
{
	at[0] = number | 0x80;
	at[1] = number >> 7 | 0x80;
	at[2] = number >> 14;
}

/* Samples with value i, label i (which is none where i is 0) and location 1; the caller frees. */
static uint8_t *many_samples(size_t *len, uint8_t **samples)
{
	static const uint8_t sample[SAMPLE_BYTES] = {
		0x12, 16, 0x10, 0, 0,	 0,	  /* value */
		0x1a, 6,  0x08, 1, 0x18, 0, 0, 0, /* label k */
		0x0a, 2,  1,	1,		  /* location 1, twice */
	};
	uint8_t *bytes = xmalloc(sizeof(many_head) + NR_MANY * SAMPLE_BYTES);

	memcpy(bytes, many_head, sizeof(many_head));
	*samples = bytes + sizeof(many_head);
	for (uint32_t i = 0; i < NR_MANY; i++) {
		uint8_t *at = *samples + i * SAMPLE_BYTES;

		memcpy(at, sample, SAMPLE_BYTES);
		put_three(at + 3, i);
		put_three(at + 11, i);
	}
	*len = sizeof(many_head) + NR_MANY * SAMPLE_BYTES;
	return bytes;
}

static void test_many_samples(void **state)
{
	size_t len;
	uint8_t *samples, *bytes scoped(freep) = many_samples(&len, &samples);
	struct profile *profile;
	struct input_error error;

	(void)state;
	assert_int_equal(input_parse(bytes, len, &input_default_limits, &profile, NULL, &error), 0);
	assert_int_equal(profile->samples.nr, NR_MANY);
	for (uint32_t i = 0; i < NR_MANY; i++) {
		const struct profile_sample *sample = &profile->samples.at[i];

		assert_int_equal(sample->values[0], i);
		assert_int_equal(sample->nr_locations, 2);
		assert_int_equal(sample->locations[0] + sample->locations[1], 2);
		assert_int_equal(sample->nr_labels, i != 0);
		if (i)
			assert_int_equal(sample->labels[0].num, i);
	}
	profile_free(profile);
}

/* Wherever it is broken, the error names the first broken part. */
static void test_many_samples_broken(void **state)
{
	static const size_t broken[] = {NR_MANY - 1, NR_MANY / 2 + 1, NR_MANY / 2, NR_MANY / 2 - 1,
					0};
	size_t len;
	uint8_t *samples, *bytes scoped(freep) = many_samples(&len, &samples);

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		uint8_t *at = samples + broken[i] * SAMPLE_BYTES + LOCATION_AT;
		char expected[100];
		struct profile *profile;
		struct input_error error;

		*at = 9;
		snprintf(expected, sizeof(expected),
			 "sample %zu: it refers to location 9, which does not exist", broken[i]);
		assert_int_equal(
			input_parse(bytes, len, &input_default_limits, &profile, NULL, &error),
			-EBADMSG);
		assert_string_equal(error.message, expected);
		assert_int_equal(error.offset, at + 1 - bytes);
	}
}

static int need_protoc(void **state)
{
	(void)state;
	return judge_has("protoc") ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_nul_in_a_string),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_mistaken_files),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_many_samples),
		cmocka_unit_test(test_many_samples_broken),
	};

	return cmocka_run_group_tests(tests, need_protoc, NULL);
}
