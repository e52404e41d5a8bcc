// SPDX-License-Identifier: BSD-2-Clause
/*
 * What all walks over a pprof file share: words for what is wrong with it, the numbers and strings of its messages, and the
 * fields of one kind in their order.
 */
#include "input/pprof_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

const char *const pprof_kind_names[NR_KINDS] = {
	[KIND_TYPE] = "sample type",  [KIND_SAMPLE] = "sample",	    [KIND_MAPPING] = "mapping",
	[KIND_LOCATION] = "location", [KIND_FUNCTION] = "function", [KIND_STRING] = "string",
	[KIND_SCALAR] = "profile",
};

uint64_t pprof_offset_of(const struct pprof_reader *reader, const uint8_t *at)
{
	return at - reader->source->bytes;
}

/* Fails at a byte, in what is being read. */
int pprof_broken_at(const struct pprof_reader *reader, const uint8_t *at, const char *fmt, ...)
{
	char why[160], which[32] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (reader->kind != KIND_SCALAR)
		snprintf(which, sizeof(which), " %zu", reader->item);
	return input_fail(reader->error, -EBADMSG, pprof_offset_of(reader, at), "%s%s: %s",
			  pprof_kind_names[reader->kind], which, why);
}

int pprof_broken_wire(const struct pprof_reader *reader, const struct wire *wire)
{
	return pprof_broken_at(reader, wire->at, "%s", wire->why);
}

int pprof_expect_type(const struct pprof_reader *reader, const struct wire_field *field,
		      enum wire_type type)
{
	if (field->type == type)
		return 0;
	return pprof_broken_at(reader, field->tag,
			       "field %" PRIu64 " has wire type %d, expected %d", field->number,
			       field->type, type);
}

/* A repeated number may be packed. */
int pprof_expect_numbers(const struct pprof_reader *reader, const struct wire_field *field)
{
	return field->type == WIRE_LEN ? 0 : pprof_expect_type(reader, field, WIRE_VARINT);
}

int pprof_read_numbers(const struct pprof_reader *reader, struct wire wire, uint64_t *numbers,
		       size_t nr)
{
	struct wire_field field;

	while (wire_next(&wire, &field)) {
		if (!field.number || field.number >= nr)
			continue;
		if (pprof_expect_type(reader, &field, WIRE_VARINT))
			return -EBADMSG;
		numbers[field.number] = field.value;
	}
	return wire.why ? pprof_broken_wire(reader, &wire) : 0;
}

int pprof_to_string(const struct pprof_reader *reader, const uint8_t *at, const char *what,
		    uint64_t position, uint32_t *id)
{
	if (position >= reader->nr[KIND_STRING])
		return pprof_broken_at(reader, at,
				       "%s refers to string %" PRId64 ", but the table has %zu",
				       what, (int64_t)position, reader->nr[KIND_STRING]);
	*id = reader->strings[position];
	return 0;
}

int pprof_for_rest(struct pprof_reader *reader, enum pprof_kind kind, pprof_field_fn fn)
{
	struct wire wire = reader->stretch[kind];
	struct wire_field field;

	while (wire_next(&wire, &field)) {
		bool is_scalar = !field.number || field.number >= KIND_SCALAR;
		int err;

		if (is_scalar ? kind != KIND_SCALAR : field.number != kind)
			continue;
		err = fn(reader, &field);
		if (err)
			return err;
		reader->item++;
	}
	return 0; /* pprof_count_all() has been here */
}
