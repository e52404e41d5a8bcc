// SPDX-License-Identifier: BSD-2-Clause
/*
 * Strings: an object's header, whose state says how wide a character is and whether all are ASCII, then the characters.
 *
 * Lines, which differ from version to version:
 *	3.8, 3.9	co_lnotab: pairs of unsigned bytes of bytecode and signed lines; the line counts from where the bytes end
 *	3.10		co_linetable: the same pairs; the line counts for the bytes themselves, -128: they have none
 *	3.11 to 3.14	location table: a byte 1 kind:4 length-1:3 (in units of two bytes), then numbers in six bits a byte
 * (Objects/lnotab_notes.txt, Objects/locations.md of CPython.)
 *
 * A code object does not know its module. Below a folder of packages the path of its file says it; else the module is
 * the file's base name, as for a program's own files.
 */
#include "runtime/pycode.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define LENGTH_AT   16 /* of a str or bytes */
#define STATE_AT    32 /* of a str */
#define BYTES_AT    32 /* of bytes: the first */
#define HAS_NO_LINE (-128)

/* Strings --------------------------------------------------------------------------------------- */

/* What is no character, or not to be shown, becomes one that says so. */
static size_t put_character(uint32_t c, char to[4])
{
	if (c < 0x20 || c == 0x7f)
		c = '?';
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	return text_put_utf8(c, to);
}

/* How a str lies in memory. */
struct shape {
	size_t first; /* character */
	uint32_t width_bytes;
};

static bool shape_of(const struct pycode_copies *copies, const struct memory_copy *str,
		     struct shape *shape)
{
	bool is_small = copies->version >= 0x030c;
	uint32_t state;
	bool is_compact, is_ascii;

	if (!memory_copy_get(str, STATE_AT, &state, sizeof(state)))
		return false;
	shape->width_bytes = state >> 2 & 7;
	is_compact = state >> 5 & 1;
	is_ascii = state >> 6 & 1;
	shape->first = is_ascii ? (is_small ? 40 : 48) : (is_small ? 56 : 72);
	return is_compact &&
	       (shape->width_bytes == 1 || shape->width_bytes == 2 || shape->width_bytes == 4);
}

/* The text of a str, cut with "..." where it or its copy ends early. false: it is none, or empty. */
static bool read_str(const struct pycode_copies *copies, const struct memory_copy *str, char *to,
		     size_t to_bytes)
{
	struct shape shape;
	size_t nr = 0;
	uint64_t length;

	if (!shape_of(copies, str, &shape) ||
	    !memory_copy_get(str, LENGTH_AT, &length, sizeof(length)) || !length)
		return false;
	for (uint64_t i = 0; i < length; i++) {
		uint32_t c = 0;

		if (nr + 8 > to_bytes || i > str->len_bytes ||
		    !memory_copy_get(str, shape.first + i * shape.width_bytes, &c,
				     shape.width_bytes)) {
			nr += (size_t)snprintf(to + nr, to_bytes - nr, "...");
			break;
		}
		nr += put_character(c, to + nr);
	}
	to[nr] = '\0';
	return true;
}

/* Modules --------------------------------------------------------------------------------------- */

/* The part of path after a folder "python3.11/"; NULL: there is no such folder. */
static const char *behind_library(const char *path)
{
	const char *found = NULL;

	for (const char *at = path; (at = strstr(at, "/python3.")); at++) {
		const char *end = at + strlen("/python3.");

		while (isdigit((unsigned char)*end))
			end++;
		if (*end == '/')
			found = end + 1;
	}
	return found;
}

/* The path of the file from the folder on in which modules are looked for; else its base name, or its package's. */
static const char *module_path(const char *path)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
	const char *found = behind_library(path), *slash = strrchr(path, '/');

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *at = strstr(path, folders[i]);

		if (at && at + strlen(folders[i]) > (found ? found : path))
			found = at + strlen(folders[i]);
	}
	if (found || !slash)
		return found ? found : path;
	if (!strcmp(slash, "/__init__.py"))
		while (slash > path && slash[-1] != '/')
			slash--;
	else
		slash++;
	return slash;
}

static void cut_end(char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	if (len >= end_len && !strcmp(text + len - end_len, end))
		text[len - end_len] = '\0';
}

/* "json.decoder"; "" for code of no file. */
static void module_of(const char *file, char *to, size_t to_bytes)
{
	static const char frozen[] = "<frozen ";

	to[0] = '\0';
	if (!strncmp(file, frozen, sizeof(frozen) - 1)) {
		snprintf(to, to_bytes, "%.*s", (int)to_bytes - 1, file + sizeof(frozen) - 1);
		cut_end(to, ">");
		return;
	}
	if (*file == '<')
		return;
	snprintf(to, to_bytes, "%.*s", (int)to_bytes - 1, module_path(file));
	cut_end(to, ".py");
	cut_end(to, "/__init__");
	for (char *at = to; *at; at++)
		if (*at == '/')
			*at = '.';
}

static bool read_names(const struct pycode_copies *copies, struct pycode *code)
{
	char function[PYCODE_NAME_BYTES / 2], module[PYCODE_NAME_BYTES / 2];

	if (!read_str(copies, &copies->qualified, function, sizeof(function)) &&
	    !read_str(copies, &copies->name, function, sizeof(function)))
		return false;
	if (!read_str(copies, &copies->file, code->file, sizeof(code->file)))
		code->file[0] = '\0';
	module_of(code->file, module, sizeof(module));
	snprintf(code->name, sizeof(code->name), "%s%s%s", module, *module ? "." : "", function);
	return true;
}

/* Lines ----------------------------------------------------------------------------------------- */

/* The table of lines, as far as it is there. */
struct table {
	const uint8_t *at, *limit;
};

static void add_row(struct pycode *code, uint64_t limit, int64_t line)
{
	uint32_t shown = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;

	if (limit > UINT32_MAX || code->rows.nr == PYCODE_MAX_ROWS)
		return;
	if (code->rows.nr && code->rows.at[code->rows.nr - 1].line == shown)
		code->rows.at[code->rows.nr - 1].limit = (uint32_t)limit;
	else
		vec_push(&code->rows, (struct pycode_row){(uint32_t)limit, shown});
}

static void read_lnotab(struct table table, struct pycode *code)
{
	int64_t line = code->start_line;
	uint64_t limit = 0;

	for (; table.limit - table.at >= 2; table.at += 2) {
		limit += table.at[0];
		if (table.at[0])
			add_row(code, limit, line);
		line += (int8_t)table.at[1];
	}
	add_row(code, UINT32_MAX, line);
}

static void read_linetable(struct table table, struct pycode *code)
{
	int64_t line = code->start_line;
	uint64_t limit = 0;

	for (; table.limit - table.at >= 2; table.at += 2) {
		int8_t delta = (int8_t)table.at[1];

		limit += table.at[0];
		if (delta != HAS_NO_LINE)
			line += delta;
		if (table.at[0])
			add_row(code, limit, delta == HAS_NO_LINE ? 0 : line);
	}
}

/* Lines are ints: what a forged number has beyond 30 bits is dropped, and no sum of a table's numbers overflows. */
static uint32_t take_varint(struct table *table)
{
	uint32_t value = 0;
	uint32_t shift = 0;

	while (table->at < table->limit) {
		uint8_t byte = *table->at++;

		if (shift < 30)
			value |= (uint32_t)(byte & 0x3f) << shift;
		shift += 6;
		if (!(byte & 0x40))
			break;
	}
	return value;
}

static int64_t take_signed(struct table *table)
{
	uint32_t value = take_varint(table);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static void read_locations(struct table table, struct pycode *code)
{
	int64_t line = code->start_line;
	uint64_t limit = 0;

	while (table.at < table.limit) {
		uint8_t head = *table.at++;
		uint32_t kind = head >> 3 & 15;

		limit += 2 * ((head & 7) + 1u);
		if (kind == 13 || kind == 14)
			line += take_signed(&table);
		else if (kind >= 10 && kind <= 12)
			line += kind - 10;
		add_row(code, limit, kind == 15 ? 0 : line);
		/* Columns follow: bytes without the upper bit. */
		while (table.at < table.limit && !(*table.at & 0x80))
			table.at++;
	}
}

static void read_lines(const struct pycode_copies *copies, struct pycode *code)
{
	const struct memory_copy *lines = &copies->lines;
	struct table table;
	uint64_t length;

	if (!memory_copy_get(lines, LENGTH_AT, &length, sizeof(length)) ||
	    lines->len_bytes <= BYTES_AT)
		return;
	table = (struct table){lines->bytes + BYTES_AT, lines->bytes + lines->len_bytes};
	if (length < (uint64_t)(table.limit - table.at))
		table.limit = table.at + length;
	if (copies->version < 0x030a)
		read_lnotab(table, code);
	else if (copies->version == 0x030a)
		read_linetable(table, code);
	else
		read_locations(table, code);
}

static size_t start_line_at(uint16_t version)
{
	if (version < 0x030b)
		return 40;
	return version == 0x030b ? 72 : 68;
}

bool pycode_read(const struct pycode_copies *copies, struct pycode *code)
{
	int32_t start_line;

	*code = (struct pycode){0};
	if (!read_names(copies, code))
		return false;
	if (memory_copy_get(&copies->object, start_line_at(copies->version), &start_line,
			    sizeof(start_line)) &&
	    start_line > 0)
		code->start_line = (uint32_t)start_line;
	read_lines(copies, code);
	return true;
}

void pycode_release(struct pycode *code)
{
	vec_release(&code->rows);
}
