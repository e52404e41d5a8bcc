/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads DWARF's encodings from a range of bytes, with every bound checked.
 *
 * A read past the end gives 0, moves to the end and sets is_bad, so that loops that run to the end stop.
 */
#ifndef CPROF_OBJECT_DWARFCURSOR_H
#define CPROF_OBJECT_DWARFCURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct dwarfcursor {
	const uint8_t *at, *end;
	bool is_bad;
};

static inline size_t dwarfcursor_left(const struct dwarfcursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static inline void dwarfcursor_fail(struct dwarfcursor *cursor)
{
	cursor->at = cursor->end;
	cursor->is_bad = true;
}

static inline void dwarfcursor_skip(struct dwarfcursor *cursor, uint64_t len_bytes)
{
	if (len_bytes > dwarfcursor_left(cursor))
		dwarfcursor_fail(cursor);
	else
		cursor->at += len_bytes;
}

/* An unsigned number of 0 to 8 bytes. */
static inline uint64_t dwarfcursor_sized(struct dwarfcursor *cursor, unsigned int len_bytes)
{
	uint64_t value = 0;

	if (len_bytes > dwarfcursor_left(cursor) || len_bytes > sizeof(value)) {
		dwarfcursor_fail(cursor);
		return 0;
	}
	memcpy(&value, cursor->at, len_bytes);
	cursor->at += len_bytes;
	return value;
}

static inline uint8_t dwarfcursor_u8(struct dwarfcursor *cursor)
{
	if (cursor->at == cursor->end) {
		cursor->is_bad = true;
		return 0;
	}
	return *cursor->at++;
}

static inline uint16_t dwarfcursor_u16(struct dwarfcursor *cursor)
{
	return (uint16_t)dwarfcursor_sized(cursor, 2);
}

static inline uint32_t dwarfcursor_u32(struct dwarfcursor *cursor)
{
	return (uint32_t)dwarfcursor_sized(cursor, 4);
}

/* The bits of a LEB128 number, of which those above the 64th are lost, how many it has, and its last byte, with the sign. */
static inline uint64_t dwarfcursor_leb(struct dwarfcursor *cursor, unsigned int *nr_bits,
				       uint8_t *last)
{
	uint64_t value = 0;

	*nr_bits = 0;
	while (cursor->at < cursor->end) {
		*last = *cursor->at++;
		if (*nr_bits < 64)
			value |= (uint64_t)(*last & 0x7f) << *nr_bits;
		*nr_bits += 7;
		if (!(*last & 0x80))
			return value;
	}
	cursor->is_bad = true;
	*last = 0;
	return 0;
}

static inline uint64_t dwarfcursor_uleb(struct dwarfcursor *cursor)
{
	unsigned int nr_bits;
	uint8_t last;

	return dwarfcursor_leb(cursor, &nr_bits, &last);
}

static inline int64_t dwarfcursor_sleb(struct dwarfcursor *cursor)
{
	unsigned int nr_bits;
	uint8_t last;
	uint64_t value = dwarfcursor_leb(cursor, &nr_bits, &last);

	if (nr_bits < 64 && last & 0x40)
		value |= ~UINT64_C(0) << nr_bits;
	return (int64_t)value;
}

/* A NUL-terminated string, borrowed. NULL: it has no end. */
static inline const char *dwarfcursor_string(struct dwarfcursor *cursor)
{
	const uint8_t *text = cursor->at, *nul = memchr(text, 0, dwarfcursor_left(cursor));

	if (!nul) {
		dwarfcursor_fail(cursor);
		return NULL;
	}
	cursor->at = nul + 1;
	return (const char *)text;
}

/* The length that units and tables begin with, whose size it sets: 4 or 8 bytes. */
static inline uint64_t dwarfcursor_length(struct dwarfcursor *cursor, uint8_t *offset_bytes)
{
	uint64_t len_bytes = dwarfcursor_u32(cursor);

	*offset_bytes = 4;
	if (len_bytes == 0xffffffff) {
		*offset_bytes = 8;
		len_bytes = dwarfcursor_sized(cursor, 8);
	} else if (len_bytes >= 0xfffffff0) {
		dwarfcursor_fail(cursor);
	}
	return len_bytes;
}

#endif
