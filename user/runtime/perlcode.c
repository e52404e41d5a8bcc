// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names may be of any encoding. What runs without being called has none: the program, a file that another requires, the text of an
 * eval. Its name is that of its file, and of an eval without its number, which is another one each time. A block that sort compares
 * with has none either. Functions without a name are all called __ANON__: to distinguish them, they get file and line.
 */
#include "runtime/perlcode.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "runtime/perl.h"

#define LINE_AT 36 /* in a COP */

/* A name: its length, its text. false: there is none. */
static bool read_name(const struct memory_copy *copy, char *to, size_t to_bytes)
{
	size_t room;
	int32_t len;

	*to = '\0';
	if (!memory_copy_get(copy, 0, &len, sizeof(len)) || len <= 0 ||
	    copy->len_bytes <= sizeof(len))
		return false;
	room = copy->len_bytes - sizeof(len);
	text_escape_part((const char *)copy->bytes + sizeof(len),
			 (size_t)len < room ? (size_t)len : room, (size_t)len > room, to, to_bytes);
	return *to;
}

static void read_file(const struct memory_copy *copy, char *to, size_t to_bytes)
{
	size_t len = copy->len_bytes ? strnlen((const char *)copy->bytes, copy->len_bytes) : 0;

	*to = '\0';
	if (len)
		text_escape_part((const char *)copy->bytes, len, len == copy->len_bytes, to,
				 to_bytes);
}

/* The name of what runs without being called. */
static void name_by_file(struct perlcode *code, bool is_block)
{
	const char *name = text_base_name(code->file);

	if (is_block)
		name = "{sort}";
	else if (!strncmp(code->file, "(eval ", strlen("(eval ")))
		name = "(eval)";

	snprintf(code->name, sizeof(code->name), "%.*s", (int)sizeof(code->name) - 1, name);
	text_drop_cut_character(code->name);
}

bool perlcode_read(const struct perlcode_copies *copies, struct perlcode *code)
{
	char name[PERLCODE_NAME_BYTES / 2 - 64], package[PERLCODE_NAME_BYTES / 2 - 64];
	struct abi_perl layout;

	*code = (struct perlcode){0};
	if (!perl_layout(copies->version, &layout))
		return false;
	read_file(&copies->file, code->file, sizeof(code->file));
	if (!memory_copy_get(&copies->start, LINE_AT, &code->start_line, sizeof(code->start_line)))
		code->start_line = 0;
	if (!read_name(&copies->name, name, sizeof(name))) {
		name_by_file(code, copies->is_block);
		return *code->name;
	}
	read_name(&copies->package, package, sizeof(package));
	snprintf(code->name, sizeof(code->name), "%s%s%s", package, *package ? "::" : "", name);
	if (!strcmp(name, "__ANON__") && *code->file) {
		size_t len = strlen(code->name);

		snprintf(code->name + len, sizeof(code->name) - len, "[%s:%u]",
			 text_base_name(code->file), code->start_line);
		text_drop_cut_character(code->name);
	}
	return true;
}
