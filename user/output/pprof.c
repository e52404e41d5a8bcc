// SPDX-License-Identifier: BSD-2-Clause
/*
 * A profile.proto file is one message, and it need not be built to be written. In the protobuf
 * encoding a message is its fields one after another, so that the bytes of two messages of one type,
 * concatenated, are one message that has the fields of both (protobuf.dev, "Encoding", on "last one
 * wins" and merging):
 *
 *	Profile{sample_type: A} Profile{sample: B} Profile{sample: C} Profile{period: 7}
 *	= Profile{sample_type: A, sample: [B, C], period: 7}
 *
 * So each step below packs a Profile that holds one item, and no framing is ours: protobuf-c writes
 * tag, length and body, then the bytes go into deflate and the buffer is used again.
 *
 * Scalars are written once, at the end: pprof takes a time_nanos that appears twice for two files
 * that were glued together, and refuses.
 *
 * Alternative rejected: building the whole Perftools__Profiles__Profile and packing it. It is three
 * copies of a large profile (ours, protobuf-c's pointers and submessages, the packed bytes) where
 * this needs the size of one sample.
 */
#include "output/pprof.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "output/textout.h"
#include "profile.pb-c.h"

#define DEFLATED_BYTES (64 * 1024)

struct encoder {
	const struct profile *profile;
	pprof_sink_fn sink;
	void *ctx;
	struct text_out *plain; /* NULL: through deflate */
	z_stream zlib;
	vec_of(uint8_t) packed;
	vec_of(uint64_t) location_ids; /* of the sample being packed, as wide as protobuf-c wants */
	uint8_t deflated[DEFLATED_BYTES];
	int err; /* the first one; nothing is done after it */
};

static void encoder_deflate(struct encoder *encoder, const void *bytes, size_t len_bytes, int flush)
{
	z_stream *zlib = &encoder->zlib;

	if (encoder->plain) {
		text_out_write(encoder->plain, bytes, len_bytes);
		return;
	}
	zlib->next_in = (Bytef *)bytes;
	zlib->avail_in = len_bytes;
	do {
		int status;
		size_t nr_out;

		if (encoder->err)
			return;
		zlib->next_out = encoder->deflated;
		zlib->avail_out = sizeof(encoder->deflated);
		status = deflate(zlib, flush);
		if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
			encoder->err = -EIO;
		nr_out = sizeof(encoder->deflated) - zlib->avail_out;
		if (!encoder->err && nr_out)
			encoder->err = encoder->sink(encoder->ctx, encoder->deflated, nr_out);
	} while (!zlib->avail_out);
}

/* Writes the fields that part has: one more stretch of the file's only message. */
static void put(struct encoder *encoder, const Perftools__Profiles__Profile *part)
{
	size_t len = perftools__profiles__profile__get_packed_size(part);

	if (len > UINT32_MAX / 2) /* beyond what a reader of protobuf takes, and zlib's uInt */
		encoder->err = encoder->err ? encoder->err : -EFBIG;
	if (encoder->err)
		return;
	encoder->packed.nr = 0;
	vec_reserve(&encoder->packed, len);
	perftools__profiles__profile__pack(part, encoder->packed.at);
	encoder_deflate(encoder, encoder->packed.at, len, Z_NO_FLUSH);
}

static void put_type(struct encoder *encoder, const struct value_type *type)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType value = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	Perftools__Profiles__ValueType *values[] = {&value};

	value.type = type->type;
	value.unit = type->unit;
	part.n_sample_type = 1;
	part.sample_type = values;
	put(encoder, &part);
}

/* A sample points at its labels, so they are made first. */
static Perftools__Profiles__Label to_label(const struct profile_label *label)
{
	Perftools__Profiles__Label to = PERFTOOLS__PROFILES__LABEL__INIT;

	to.key = label->key;
	to.str = label->str;
	to.num = label->num;
	to.num_unit = label->num_unit;
	return to;
}

static void put_sample(struct encoder *encoder, const struct profile_sample *from)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT;
	Perftools__Profiles__Sample *samples[] = {&sample};
	Perftools__Profiles__Label *labels scoped(freep) = NULL;
	Perftools__Profiles__Label **pointers scoped(freep) = NULL;

	encoder->location_ids.nr = 0;
	for (uint32_t i = 0; i < from->nr_locations; i++)
		vec_push(&encoder->location_ids, from->locations[i]);
	sample.n_location_id = from->nr_locations;
	sample.location_id = encoder->location_ids.at;

	sample.n_value = encoder->profile->nr_types;
	sample.value = from->values;

	labels = xcalloc(from->nr_labels, sizeof(*labels));
	pointers = xcalloc(from->nr_labels, sizeof(*pointers));
	for (uint32_t i = 0; i < from->nr_labels; i++) {
		labels[i] = to_label(&from->labels[i]);
		pointers[i] = &labels[i];
	}
	sample.n_label = from->nr_labels;
	sample.label = pointers;
	part.n_sample = 1;
	part.sample = samples;
	put(encoder, &part);
}

static void put_mapping(struct encoder *encoder, uint64_t id, const struct profile_mapping *from)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT;
	Perftools__Profiles__Mapping *mappings[] = {&mapping};

	mapping.id = id;
	mapping.memory_start = from->start;
	mapping.memory_limit = from->limit;
	mapping.file_offset = from->file_off;
	mapping.filename = from->path;
	mapping.build_id = from->build_id;
	mapping.has_functions = from->has_functions;
	mapping.has_filenames = from->has_filenames;
	mapping.has_line_numbers = from->has_line_numbers;
	mapping.has_inline_frames = from->has_inline_frames;
	part.n_mapping = 1;
	part.mapping = mappings;
	put(encoder, &part);
}

static void put_location(struct encoder *encoder, uint64_t id, const struct profile_location *from)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT;
	Perftools__Profiles__Location *locations[] = {&location};
	Perftools__Profiles__Line *lines scoped(freep) = xcalloc(from->nr_lines, sizeof(*lines));
	Perftools__Profiles__Line **pointers scoped(freep) =
		xcalloc(from->nr_lines, sizeof(*pointers));

	for (uint32_t i = 0; i < from->nr_lines; i++) {
		perftools__profiles__line__init(&lines[i]);
		lines[i].function_id = from->lines[i].function;
		lines[i].line = from->lines[i].line;
		lines[i].column = from->lines[i].column;
		pointers[i] = &lines[i];
	}
	location.id = id;
	location.mapping_id = from->mapping;
	location.address = from->address;
	location.n_line = from->nr_lines;
	location.line = pointers;
	location.is_folded = from->is_folded;
	part.n_location = 1;
	part.location = locations;
	put(encoder, &part);
}

static void put_function(struct encoder *encoder, uint64_t id, const struct profile_function *from)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT;
	Perftools__Profiles__Function *functions[] = {&function};

	function.id = id;
	function.name = from->name;
	function.system_name = from->system_name;
	function.filename = from->path;
	function.start_line = from->start_line;
	part.n_function = 1;
	part.function = functions;
	put(encoder, &part);
}

static void put_string(struct encoder *encoder, const char *s)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	char *strings[] = {(char *)s};

	part.n_string_table = 1;
	part.string_table = strings;
	put(encoder, &part);
}

static void put_scalars(struct encoder *encoder)
{
	const struct profile *profile = encoder->profile;
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType period_type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	int64_t *comments scoped(freep) = xcalloc(profile->comments.nr, sizeof(*comments));

	for (size_t i = 0; i < profile->comments.nr; i++)
		comments[i] = profile->comments.at[i];
	period_type.type = profile->period_type.type;
	period_type.unit = profile->period_type.unit;
	part.period_type = &period_type;
	part.period = profile->period;
	part.time_nanos = profile->time_ns;
	part.duration_nanos = profile->duration_ns;
	part.n_comment = profile->comments.nr;
	part.comment = comments;
	part.default_sample_type = profile->default_type;
	part.drop_frames = profile->drop_frames;
	part.keep_frames = profile->keep_frames;
	part.doc_url = profile->doc_url;
	put(encoder, &part);
}

static void put_profile(struct encoder *encoder)
{
	const struct profile *profile = encoder->profile;

	for (uint32_t i = 0; i < profile->nr_types; i++)
		put_type(encoder, &profile->types[i]);
	for (size_t i = 0; i < profile->samples.nr; i++)
		put_sample(encoder, &profile->samples.at[i]);
	for (size_t i = 0; i < profile->mappings.nr; i++)
		put_mapping(encoder, i + 1, &profile->mappings.at[i]);
	for (size_t i = 0; i < profile->locations.nr; i++)
		put_location(encoder, i + 1, &profile->locations.at[i]);
	for (size_t i = 0; i < profile->functions.nr; i++)
		put_function(encoder, i + 1, &profile->functions.at[i]);
	for (size_t i = 0; i < strtab_nr(&profile->strings); i++)
		put_string(encoder, strtab_get(&profile->strings, i));
	put_scalars(encoder);
}

static void encoder_release(struct encoder *encoder)
{
	vec_release(&encoder->packed);
	vec_release(&encoder->location_ids);
}

int pprof_encode(const struct profile *profile, pprof_sink_fn sink, void *ctx)
{
	struct encoder *encoder scoped(freep) = xcalloc(1, sizeof(*encoder));

	encoder->profile = profile;
	encoder->sink = sink;
	encoder->ctx = ctx;
	/* 15 + 16: the largest window, in a gzip wrapper (zlib.h); no name and no time in its head,
	 * so that equal profiles are equal files. */
	if (deflateInit2(&encoder->zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -EIO;
	put_profile(encoder);
	encoder_deflate(encoder, NULL, 0, Z_FINISH);
	deflateEnd(&encoder->zlib);
	encoder_release(encoder);
	return encoder->err;
}

int pprof_encode_plain(const struct profile *profile, pprof_sink_fn sink, void *ctx)
{
	struct encoder *encoder scoped(freep) = xcalloc(1, sizeof(*encoder));
	struct text_out out;
	int err;

	encoder->profile = profile;
	encoder->plain = &out;
	text_out_open(&out, sink, ctx);
	put_profile(encoder);
	err = text_out_close(&out);
	encoder_release(encoder);
	return encoder->err ? encoder->err : err;
}
