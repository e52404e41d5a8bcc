// SPDX-License-Identifier: BSD-2-Clause
/*
 * Nearly all fields of a profile are short messages with a small number, and nearly all varints
 * are one or two bytes: these have paths of their own (take_short_body(), wire_varint()),
 * everything else the general one. Every length is compared with what is left before it is added
 * to a pointer.
 *
 * Groups are skipped with an array of the open ones: not by recursion, whose depth the file would
 * choose.
 */
#include "input/wire.h"

#include <string.h>

/* Groups are obsolete, so they are not nested. */
#define MAX_GROUPS 32

static bool broken(struct wire *wire, const char *why)
{
	wire->why = why;
	return false;
}

bool wire_long_varint(struct wire *wire, uint64_t *value)
{
	uint64_t sum = 0;

	if (wire->at == wire->end)
		return false;
	for (int i = 0; i < 10; i++) {
		if (wire->at + i == wire->end)
			return broken(wire, "truncated within a number");
		sum |= (uint64_t)(wire->at[i] & 0x7f) << 7 * i;
		if (wire->at[i] < 0x80) {
			wire->at += i + 1;
			*value = sum;
			return true;
		}
	}
	return broken(wire, "a number is longer than 10 bytes");
}

/* Moves over len bytes, which become the body. */
static bool take(struct wire *wire, struct wire_field *field, uint64_t len)
{
	if (len > (uint64_t)(wire->end - wire->at))
		return broken(wire, "truncated, or a length exceeds the data");
	field->body = (struct wire){.at = wire->at, .end = wire->at + len};
	wire->at += len;
	return true;
}

static bool take_tag(struct wire *wire, struct wire_field *field)
{
	uint64_t tag;

	field->tag = wire->at;
	if (!wire_varint(wire, &tag))
		return false;
	field->number = tag >> 3;
	field->type = tag & 7;
	field->value = 0;
	return true;
}

static bool take_value(struct wire *wire, struct wire_field *field)
{
	uint64_t len;

	switch (field->type) {
	case WIRE_VARINT:
		field->body = (struct wire){.at = wire->at};
		if (!wire_varint(wire, &field->value))
			return wire->why ? false : broken(wire, "truncated after a tag");
		field->body.end = wire->at;
		return true;
	case WIRE_64:
		return take(wire, field, 8);
	case WIRE_32:
		return take(wire, field, 4);
	case WIRE_LEN:
		if (!wire_varint(wire, &len))
			return wire->why ? false : broken(wire, "truncated after a tag");
		return take(wire, field, len);
	default:
		wire->at = field->tag;
		return broken(wire, field->type == WIRE_GROUP_END
					    ? "a group ends that did not begin"
					    : "unknown wire type");
	}
}

/* Over everything up to the end of the group whose tag was just read. */
static bool skip_group(struct wire *wire, struct wire_field *field)
{
	uint64_t open[MAX_GROUPS] = {field->number};
	const uint8_t *begin = wire->at;
	struct wire_field inner;

	for (int depth = 1; depth > 0;) {
		if (!take_tag(wire, &inner))
			return wire->why ? false : broken(wire, "truncated within a group");
		if (inner.type == WIRE_GROUP) {
			if (depth == MAX_GROUPS)
				return broken(wire, "groups are nested too deeply");
			open[depth++] = inner.number;
		} else if (inner.type == WIRE_GROUP_END) {
			if (inner.number != open[--depth])
				return broken(wire, "a group ends with the number of another");
		} else if (!take_value(wire, &inner)) {
			return false;
		}
	}
	field->body = (struct wire){.at = begin, .end = wire->at};
	return true;
}

/* What nearly all bytes of a profile lie in: a body, its number below 16, shorter than 128 bytes. */
static bool take_short_body(struct wire *wire, struct wire_field *field)
{
	const uint8_t *at = wire->at;
	size_t left = wire->end - at;

	if (left < 2 || (at[0] & 0x87) != WIRE_LEN || at[1] >= 0x80 || at[1] > left - 2)
		return false;
	*field = (struct wire_field){
		.tag = at,
		.number = at[0] >> 3,
		.type = WIRE_LEN,
		.body = {.at = at + 2, .end = at + 2 + at[1]},
	};
	wire->at = field->body.end;
	return true;
}

bool wire_next(struct wire *wire, struct wire_field *field)
{
	if (take_short_body(wire, field))
		return true;
	if (!take_tag(wire, field))
		return false;
	if (field->type == WIRE_GROUP)
		return skip_group(wire, field);
	return take_value(wire, field);
}

/* A varint ends with a byte below 0x80; eight bytes are looked at together. */
size_t wire_nr_varints(const struct wire *body)
{
	const uint64_t ones = 0x0101010101010101;
	const uint8_t *at = body->at;
	size_t nr = 0;

	for (; body->end - at >= 8; at += 8) {
		uint64_t bytes;

		memcpy(&bytes, at, sizeof(bytes));
		nr += (~bytes >> 7 & ones) * ones >> 56;
	}
	for (; at < body->end; at++)
		nr += *at < 0x80;
	return nr;
}
