/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cursor over protobuf's wire format: one message's fields, one after another, never a byte beyond
 * its end. It knows no schema and copies nothing.
 *
 *	tag = number << 3 | type	then, by type:
 *	0  varint: 7 bits a byte, low ones first, the top bit says that more come; at most 10 bytes
 *	1  8 bytes   5  4 bytes		little endian
 *	2  varint length, then so many bytes: a string, a message, or packed numbers
 *	3 ... 4  a group: fields, until the end tag of the same number (obsolete; skipped whole)
 *
 *	while (wire_next(&wire, &field))
 *		if (field.number == 5 && field.type == WIRE_LEN)
 *			... field.body is a cursor of its own
 *	if (wire.why)
 *		broken: why, at wire.at
 *
 * A repeated number may be packed or not, and a reader must take both: field.body holds varints in
 * either case, one of them where it is not packed.
 *
 * Taken as pprof takes them: varints longer than they need be, bits beyond the 64th (dropped), the
 * field number 0.
 *
 * Alternative rejected: protobuf-c's unpack. It makes a tree of the whole file, 4 to 40 times as
 * large, before anything can be checked.
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
	const char *why; /* NULL: nothing broken so far. Static text; at is where, then */
};

struct wire_field {
	const uint8_t *tag; /* where the field begins */
	uint64_t number;
	enum wire_type type;
	uint64_t value;	  /* of a varint */
	struct wire body; /* WIRE_LEN: what is in it; else the value's own bytes */
};

/* The next field. False at the end of the message, and where it is broken. */
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

/* How many varints a body holds, if it is not broken; never fewer than wire_varint() gives. */
size_t wire_nr_varints(const struct wire *body);

#endif
