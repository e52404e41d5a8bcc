/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cursor over protobuf's wire format: the fields of one message in order, never a byte beyond its end. It
 * knows no schema and copies nothing.
 *
 *	tag = number << 3 | type	then, by type:
 *	0  varint: 7 bits per byte, low ones first, the top bit says that more follow; at most 10 bytes
 *	1  8 bytes   5  4 bytes		little endian
 *	2  varint length, then that many bytes: a string, a message, or packed numbers
 *	3 ... 4  a group: fields, until the end tag of the same number (obsolete; skipped whole)
 *
 *	while (wire_next(&wire, &field))
 *		if (field.number == 5 && field.type == WIRE_LEN)
 *			... field.body is a cursor of its own
 *	if (wire.why)
 *		broken: why, at wire.at
 *
 * A repeated number may be packed or not, and a reader must take both: field.body holds varints in
 * either case, a single one if it is not packed.
 *
 * As pprof does, it accepts varints that are longer than necessary, bits beyond the 64th (dropped), and the
 * field number 0.
 *
 * Alternative rejected: protobuf-c's unpack. It builds a tree of the whole file, 4 to 40
 * times as large, before anything can be checked.
 *
 * Source: protobuf.dev, "Encoding".
 */
#ifndef CPROF_INPUT_WIRE_H
#define CPROF_INPUT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_64 = 1,
	WIRE_LEN = 2,
	WIRE_GROUP = 3,
	WIRE_GROUP_END = 4,
	WIRE_32 = 5,
};

struct wire {
	const uint8_t *at, *end;
	const char *why; /* static text, why the message is broken at at; NULL: it is not, so far */
};

struct wire_field {
	const uint8_t *tag; /* where the field begins */
	uint64_t number;
	enum wire_type type;
	uint64_t value;	  /* of a varint */
	struct wire body; /* WIRE_LEN: its content; otherwise the bytes of the value */
};

/* Reads the next field. False at the end of the message, or where it is broken. */
bool wire_next(struct wire *wire, struct wire_field *field);

/* The slow half of wire_varint(). */
bool wire_long_varint(struct wire *wire, uint64_t *value);

/* The next varint; false at the end of the bytes, and where it is broken (wire->why is set then). */
static inline bool wire_varint(struct wire *wire, uint64_t *value)
{
	const uint8_t *at = wire->at;

	if (at < wire->end && at[0] < 0x80) {
		*value = at[0];
		wire->at += 1;
		return true;
	}
	if (wire->end - at > 1 && at[1] < 0x80) {
		*value = (at[0] & 0x7f) | (uint64_t)at[1] << 7;
		wire->at += 2;
		return true;
	}
	return wire_long_varint(wire, value);
}

/* The number of varints in a body that is not broken; otherwise at least as many as wire_varint() reads. */
size_t wire_nr_varints(const struct wire *body);

#endif
