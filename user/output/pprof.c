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
 * tag, length and body into one buffer, which goes on when it is full.
 *
 * Samples are the exception: there may be millions where there are thousands of everything else, and
 * for each protobuf-c measures the message twice, wants location ids widened to 64 bits and an array
 * of pointers to labels. Packing a profile of a million (68 MB) takes 0.13 s of CPU by hand and took
 * 0.55 s by protobuf-c. The bytes are the same: tests/unit/test_pprof.c compares them.
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
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "output/gzip.h"
#include "profile.pb-c.h"

#define BUFFER_BYTES (64 * 1024) /* what is gathered before it goes on */

struct encoder {
	const struct profile *profile;
	sink_fn sink;
	void *ctx;
	vec_of(uint8_t) packed;
	int err; /* the first one; nothing is done after it */
};

static void flush(struct encoder *encoder)
{
	if (!encoder->err && encoder->packed.nr)
		encoder->err = encoder->sink(encoder->ctx, encoder->packed.at, encoder->packed.nr);
	encoder->packed.nr = 0;
}

/* Room for an item of at most len bytes, behind those that wait. NULL: it cannot be written. */
static uint8_t *make_room(struct encoder *encoder, size_t len)
{
	if (len > UINT32_MAX / 2) /* beyond what a reader of protobuf takes */
		encoder->err = encoder->err ? encoder->err : -EFBIG;
	if (encoder->err)
		return NULL;
	if (encoder->packed.nr + len > BUFFER_BYTES)
		flush(encoder);
	vec_reserve(&encoder->packed, len);
	return encoder->packed.at + encoder->packed.nr;
}

/* Writes the fields that part has: one more stretch of the file's only message. */
static void put(struct encoder *encoder, const Perftools__Profiles__Profile *part)
{
	size_t len = perftools__profiles__profile__get_packed_size(part);
	uint8_t *at = make_room(encoder, len);

	if (!at)
		return;
	perftools__profiles__profile__pack(part, at);
	encoder->packed.nr += len;
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

/*
 * A sample by hand (protobuf.dev, "Encoding"). A tag is field << 3 | wire type; a varint has 7 bits a
 * byte, lowest first; messages and packed arrays have their length before them, and no field is
 * written that is 0.
 */
enum {
	TAG_SAMPLE = 2 << 3 | 2, /* of Profile */
	TAG_LOCATION_ID = 1 << 3 | 2,
	TAG_VALUE = 2 << 3 | 2,
	TAG_LABEL = 3 << 3 | 2,
	TAG_KEY = 1 << 3, /* of Label */
	TAG_STR = 2 << 3,
	TAG_NUM = 3 << 3,
	TAG_NUM_UNIT = 4 << 3,
	MAX_VARINT = 10,
};

static size_t varint_size(uint64_t value)
{
	return (70 - __builtin_clzll(value | 1)) / 7;
}

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = value | 0x80;
	*at++ = value;
	return at;
}

static uint8_t *put_number(uint8_t *at, uint8_t tag, uint64_t value)
{
	if (!value)
		return at;
	*at++ = tag;
	return put_varint(at, value);
}

/*
 * The length of a body is known once it is written. It stands two bytes behind start, behind a tag and a
 * length below 128, and moves up where the length needs more. Returns the end.
 */
enum {
	HEAD = 2
};

static uint8_t *put_head(uint8_t *start, uint8_t tag, uint8_t *end)
{
	uint8_t *body = start + HEAD;
	size_t len = end - body, more = varint_size(len) - 1;

	if (more)
		memmove(body + more, body, len);
	*start = tag;
	put_varint(start + 1, len);
	return end + more;
}

static uint8_t *put_label(uint8_t *at, const struct profile_label *label)
{
	uint8_t *end = at + HEAD;

	end = put_number(end, TAG_KEY, label->key);
	end = put_number(end, TAG_STR, label->str);
	end = put_number(end, TAG_NUM, label->num);
	end = put_number(end, TAG_NUM_UNIT, label->num_unit);
	return put_head(at, TAG_LABEL, end);
}

static uint8_t *put_location_ids(uint8_t *at, const uint32_t *ids, uint32_t nr)
{
	uint8_t *end = at + HEAD;

	if (!nr)
		return at;
	for (uint32_t i = 0; i < nr; i++)
		end = put_varint(end, ids[i]);
	return put_head(at, TAG_LOCATION_ID, end);
}

static uint8_t *put_values(uint8_t *at, const int64_t *values, uint32_t nr)
{
	uint8_t *end = at + HEAD;

	if (!nr)
		return at;
	for (uint32_t i = 0; i < nr; i++)
		end = put_varint(end, values[i]);
	return put_head(at, TAG_VALUE, end);
}

static void put_sample(struct encoder *encoder, const struct profile_sample *sample)
{
	uint32_t nr_types = encoder->profile->nr_types;
	size_t most = (size_t)MAX_VARINT * (4 + nr_types) + (size_t)5 * sample->nr_locations +
		      (size_t)(4 + 4 * MAX_VARINT) * sample->nr_labels;
	uint8_t *start = make_room(encoder, most), *end;

	if (!start)
		return;
	end = put_location_ids(start + HEAD, sample->locations, sample->nr_locations);
	end = put_values(end, sample->values, nr_types);
	for (uint32_t i = 0; i < sample->nr_labels; i++)
		end = put_label(end, &sample->labels[i]);
	encoder->packed.nr = put_head(start, TAG_SAMPLE, end) - encoder->packed.at;
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

int pprof_encode_plain(const struct profile *profile, sink_fn sink, void *ctx)
{
	struct encoder encoder = {.profile = profile, .sink = sink, .ctx = ctx};

	put_profile(&encoder);
	flush(&encoder);
	vec_release(&encoder.packed);
	return encoder.err;
}

int pprof_encode(const struct profile *profile, sink_fn sink, void *ctx)
{
	struct gzip *gzip = gzip_new(sink, ctx);
	int err = pprof_encode_plain(profile, gzip_write, gzip), err_gzip = gzip_finish(gzip);

	return err ? err : err_gzip;
}
