// SPDX-License-Identifier: BSD-2-Clause
/*
 * Counts what a pprof file holds, in a first walk over it. Counts come first so that every array can be made once, in its
 * final size and within the limits.
 */
#include "input/pprof_reader.h"

#include <errno.h>

static int count_sample(struct pprof_reader *reader, struct wire wire)
{
	struct wire_field field;

	while (wire_next(&wire, &field)) {
		int err = 0;

		if (field.number == 1) {
			err = pprof_expect_numbers(reader, &field);
			reader->nr_stack_ids += wire_nr_varints(&field.body);
		} else if (field.number == 2) {
			err = pprof_expect_numbers(reader, &field);
		} else if (field.number == 3) {
			err = pprof_expect_type(reader, &field, WIRE_LEN);
			reader->nr_labels++;
		}
		if (err)
			return err;
	}
	return wire.why ? pprof_broken_wire(reader, &wire) : 0;
}

static int count_location(struct pprof_reader *reader, struct wire wire)
{
	struct wire_field field;

	while (wire_next(&wire, &field)) {
		if (field.number != 4)
			continue;
		if (pprof_expect_type(reader, &field, WIRE_LEN))
			return -EBADMSG;
		reader->nr_lines++;
	}
	return wire.why ? pprof_broken_wire(reader, &wire) : 0;
}

/*
 * A second time is what two files glued together have (as gzip members, say), and pprof refuses it.
 * It is looked for here, before their ids clash.
 */
static int count_scalar(struct pprof_reader *reader, const struct wire_field *field)
{
	if (field->number != TIME_NANOS)
		return 0;
	if (reader->has_time)
		return input_fail(reader->error, -EBADMSG, pprof_offset_of(reader, field->tag),
				  "contains several concatenated profiles (a second time_nanos)");
	reader->has_time = field->value != 0;
	return 0;
}

static void mark_half(struct pprof_reader *reader, const struct wire_field *sample)
{
	reader->half = (struct pprof_mark){.at = sample->tag,
					   .item = reader->item,
					   .nr_stack_ids = reader->nr_stack_ids,
					   .nr_labels = reader->nr_labels};
}

static int count_field(struct pprof_reader *reader, const struct wire_field *field,
		       const uint8_t *end)
{
	enum pprof_kind kind = field->number >= KIND_TYPE && field->number < KIND_SCALAR
				       ? field->number
				       : KIND_SCALAR;
	struct wire *stretch = &reader->stretch[kind];

	if (!stretch->at)
		stretch->at = field->tag;
	stretch->end = end;
	reader->kind = kind;
	reader->item = reader->nr[kind]++;
	if (kind == KIND_SCALAR)
		return count_scalar(reader, field);
	if (pprof_expect_type(reader, field, WIRE_LEN))
		return -EBADMSG;
	if (reader->nr[kind] > reader->source->limits->max_items)
		return input_fail(reader->error, -EFBIG, pprof_offset_of(reader, field->tag),
				  "has more than %zu %ss", reader->source->limits->max_items,
				  pprof_kind_names[kind]);
	if (kind == KIND_SAMPLE) {
		if (!reader->half.at &&
		    pprof_offset_of(reader, field->tag) >= reader->source->len / 2)
			mark_half(reader, field);
		return count_sample(reader, field->body);
	}
	return kind == KIND_LOCATION ? count_location(reader, field->body) : 0;
}

int pprof_count_all(struct pprof_reader *reader)
{
	struct wire wire = {.at = reader->source->bytes,
			    .end = reader->source->bytes + reader->source->len};
	struct wire_field field;

	while (wire_next(&wire, &field)) {
		int err = count_field(reader, &field, wire.at);

		if (err)
			return err;
	}
	if (wire.why)
		return input_fail(reader->error, -EBADMSG, pprof_offset_of(reader, wire.at), "%s",
				  wire.why);
	return 0;
}

/* What the profile will take; 64 for a string is its pointer, its place in the index, its block. */
int pprof_check_size(const struct pprof_reader *reader)
{
	const size_t *nr = reader->nr;
	size_t max = reader->source->limits->max_memory_bytes;
	double need = 0; /* of products that might overflow anything else */

	need += (double)nr[KIND_SAMPLE] *
		(sizeof(struct profile_sample) + nr[KIND_TYPE] * sizeof(int64_t));
	need += (double)nr[KIND_LOCATION] * (sizeof(struct profile_location) + 16);
	need += (double)nr[KIND_FUNCTION] * (sizeof(struct profile_function) + 16);
	need += (double)nr[KIND_MAPPING] * (sizeof(struct profile_mapping) + 16);
	need += (double)nr[KIND_STRING] * 64 + (double)reader->source->len;
	need += (double)reader->nr_stack_ids * sizeof(uint32_t);
	need += (double)reader->nr_labels * sizeof(struct profile_label);
	need += (double)reader->nr_lines * sizeof(struct profile_line);
	if (need > (double)max)
		return input_fail(reader->error, -EFBIG, INPUT_NO_OFFSET,
				  "needs %.0f MB of memory, more than the limit of %zu MB",
				  need / (1 << 20), max >> 20);
	if (nr[KIND_TYPE] > PROFILE_MAX_TYPES)
		return input_fail(reader->error, -EFBIG, INPUT_NO_OFFSET,
				  "has %zu sample types, more than the limit of %d", nr[KIND_TYPE],
				  PROFILE_MAX_TYPES);
	if (nr[KIND_SAMPLE] && !nr[KIND_TYPE])
		return input_fail(reader->error, -EBADMSG, INPUT_NO_OFFSET,
				  "has samples, but no sample type");
	if (!nr[KIND_STRING])
		return input_fail(reader->error, -EBADMSG, INPUT_NO_OFFSET, "has no string table");
	return 0;
}
