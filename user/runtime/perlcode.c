// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names may be of any encoding. What runs without being called has none: the program, a file that another requires, the text of an
 * eval. Its name is that of its file, and of an eval without its number, which is another one each time. A block that native
 * code runs, such as that of a sort, has none either. Functions without a name are all called __ANON__: to distinguish them, they get file and line.
 */
#include "runtime/perlcode.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "runtime/perl.h"

#define LINE_AT	       36 /* in a COP */
#define IS_UTF8	       1  /* of a name's flags */
#define NAME_MAX_BYTES 1024

/* A text in Latin-1 of len bytes as UTF-8, in to, which has room for twice as many. Returns how many it has there. */
static size_t put_latin1(const uint8_t *text, size_t len, char *to)
{
	size_t nr = 0;

	for (size_t i = 0; i < len; i++)
		nr += text_put_utf8(text[i], to + nr);
	return nr;
}

/* A name: its length, its text, NUL, flags. Without a flag it is Latin-1. false: there is none. */
static bool read_name(const struct memory_copy *copy, char *to, size_t to_bytes)
{
	char utf8[2 * NAME_MAX_BYTES];
	const char *text = (const char *)copy->bytes + sizeof(int32_t);
	size_t len;
	int32_t length;
	uint8_t flags;

	*to = '\0';
	if (!memory_copy_get(copy, 0, &length, sizeof(length)) || length <= 0 ||
	    copy->len_bytes <= sizeof(length))
		return false;
	len = copy->len_bytes - sizeof(length);
	if ((size_t)length < len)
		len = length;
	if (!memory_copy_get(copy, sizeof(length) + (size_t)length + 1, &flags, sizeof(flags)))
		flags = IS_UTF8; /* it is cut before them; what is no UTF-8 is shown as what it is */
	if (!(flags & IS_UTF8) && len <= NAME_MAX_BYTES) {
		len = put_latin1((const uint8_t *)text, len, utf8);
		text = utf8;
	}
	text_escape_part(text, len, (size_t)length + sizeof(length) > copy->len_bytes, to,
			 to_bytes);
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
static void name_by_file(struct perlcode *code, size_t block)
{
	static const char *const blocks[ABI_NR_PERL_BLOCKS] = {
		[ABI_PERL_SORT] = "{sort}", [ABI_PERL_REGEX] = "{regex}"};
	const char *name = text_base_name(code->file);

	if (block < ABI_NR_PERL_BLOCKS && blocks[block])
		name = blocks[block];
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
		name_by_file(code, copies->block.len_bytes / sizeof(uint64_t));
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
