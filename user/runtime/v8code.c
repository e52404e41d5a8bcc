// SPDX-License-Identifier: BSD-2-Clause
/*
 * A string is its map, a hash, its length in characters, then these: of one byte (Latin-1) or two (UTF-16).
 */
#include "runtime/v8code.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "v8_abi.h"

#define LENGTH_AT 12
#define TEXT_AT	  16
#define ONE_BYTE  8 /* bits of a type */
#define SHAPE	  7
#define SHAPE_SEQ 0
#define NONSTRING 0x80

struct text {
	char *at;
	size_t nr, room; /* bytes; room for a NUL besides */
};

/* Appends c as UTF-8. false: there is no more room. */
static bool put_character(struct text *text, uint32_t c)
{
	if (text->room - text->nr < 4)
		return false;
	text->nr += text_put_utf8(c, text->at + text->nr);
	return true;
}

static uint32_t unit_at(const struct memory_copy *copy, size_t i)
{
	uint16_t unit;

	memcpy(&unit, copy->bytes + TEXT_AT + 2 * i, sizeof(unit));
	return unit;
}

/* Two units may be one character; half of one is none. Returns how many units it is. */
static size_t wide_character(const struct memory_copy *copy, size_t i, size_t nr, uint32_t *c)
{
	uint32_t next;

	*c = unit_at(copy, i);
	if (*c < 0xd800 || *c > 0xdfff)
		return 1;
	next = *c < 0xdc00 && i + 1 < nr ? unit_at(copy, i + 1) : 0;
	if (next < 0xdc00 || next > 0xdfff) {
		*c = 0xfffd;
		return 1;
	}
	*c = 0x10000 + ((*c & 0x3ff) << 10 | (next & 0x3ff));
	return 2;
}

/* Adds a string, or as much of it as there is. false: something is missing. */
static bool put_string(struct text *text, const struct memory_copy *copy, uint16_t type)
{
	size_t width = type & ONE_BYTE ? 1 : 2, nr, i = 0;
	bool is_cut = type & ABI_V8_CUT;
	uint32_t length, c;

	type &= (uint16_t)~ABI_V8_CUT;
	if (type >= NONSTRING || (type & SHAPE) != SHAPE_SEQ || copy->len_bytes < TEXT_AT)
		return false;
	memcpy(&length, copy->bytes + LENGTH_AT, sizeof(length));
	nr = (copy->len_bytes - TEXT_AT) / width;
	if (nr > length)
		nr = length;
	while (i < nr) {
		size_t units = 1;

		if (width == 1)
			c = copy->bytes[TEXT_AT + i];
		else
			units = wide_character(copy, i, nr, &c);
		if (!c || !put_character(text, c))
			return false;
		i += units;
	}
	return nr == length && !is_cut;
}

/* Strings that are one, escaped; cut with "..." where something is missing. */
static void read_text(const struct memory_copy *parts, const uint16_t *types, size_t nr, char *to,
		      size_t to_bytes)
{
	char raw[V8CODE_FILE_BYTES];
	struct text text = {raw, 0, to_bytes - sizeof("...")};
	bool is_whole = true;

	for (size_t i = 0; i < nr && is_whole; i++)
		is_whole = !parts[i].len_bytes || put_string(&text, &parts[i], types[i]);
	text_escape_part(raw, text.nr, !is_whole, to, to_bytes);
}

/* Modules are known by URLs. */
static void drop_scheme(char *file)
{
	static const char scheme[] = "file://";

	if (!strncmp(file, scheme, sizeof(scheme) - 1))
		memmove(file, file + sizeof(scheme) - 1, strlen(file) - (sizeof(scheme) - 1) + 1);
}

/* What of a function without a name tells it from others. */
static void name_by_place(struct v8code *code)
{
	const char *base = text_base_name(code->file);

	if (*base && code->start_line && strlen(base) < sizeof(code->name) / 2)
		snprintf(code->name, sizeof(code->name), "(anonymous:%s:%u)", base,
			 code->start_line);
	else
		snprintf(code->name, sizeof(code->name), "(anonymous)");
}

bool v8code_read(const struct v8code_copies *copies, struct v8code *code)
{
	const struct memory_copy name[] = {copies->name, copies->rest, copies->last};
	struct abi_v8_function function;

	if (copies->function.len_bytes < sizeof(function))
		return false;
	memcpy(&function, copies->function.bytes, sizeof(function));
	read_text(name, function.types, 3, code->name, sizeof(code->name));
	read_text(&copies->file, &function.types[3], 1, code->file, sizeof(code->file));
	drop_scheme(code->file);
	code->start_line = function.line > 0 && function.line <= INT32_MAX ? (uint32_t)function.line
									   : 0;
	if (!*code->name)
		name_by_place(code);
	return true;
}
