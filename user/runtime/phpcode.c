// SPDX-License-Identifier: BSD-2-Clause
/*
 * A zend_string is a header, its length, its bytes. They may be of any encoding, and the name of a class without one goes on
 * behind a NUL with where it is defined.
 *
 * Before 8.4 all closures are called {closure}; since then the name contains file and line. To distinguish them, those of older
 * versions get the same name.
 */
#include "runtime/phpcode.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "runtime/php.h"

#define LENGTH_AT     16 /* of a zend_string */
#define TEXT_AT	      24
#define TYPE_INTERNAL 1

/* The text of a zend_string, cut with "..." where it or its copy ends early. false: it is none, or empty. */
static bool read_string(const struct memory_copy *copy, char *to, size_t to_bytes)
{
	uint64_t length;
	size_t room;

	if (!memory_copy_get(copy, LENGTH_AT, &length, sizeof(length)) || !length ||
	    copy->len_bytes <= TEXT_AT)
		return false;
	room = copy->len_bytes - TEXT_AT;
	text_escape_part((const char *)copy->bytes + TEXT_AT, length < room ? length : room,
			 length > room, to, to_bytes);
	return *to;
}

/* Without its class. false: it has none. */
static bool read_function_name(const struct phpcode_copies *copies, const struct phpcode *code,
			       char *to, size_t to_bytes)
{
	static const char closure[] = "{closure}";
	char file[PHPCODE_NAME_BYTES / 4 + 1];
	size_t len;

	if (!read_string(&copies->name, to, to_bytes)) {
		snprintf(to, to_bytes, "%.*s", (int)to_bytes - 1, text_base_name(code->file));
		text_drop_cut_character(to);
		return *to;
	}
	len = strlen(to);
	if (len < sizeof(closure) - 1 || strcmp(to + len - (sizeof(closure) - 1), closure) != 0 ||
	    !*code->file)
		return true;
	snprintf(file, sizeof(file), "%.*s", (int)sizeof(file) - 1, text_base_name(code->file));
	text_drop_cut_character(file);
	snprintf(to + len - 1, to_bytes - len + 1, ":%s:%u}", file, code->start_line);
	text_drop_cut_character(to);
	return true;
}

bool phpcode_read(const struct phpcode_copies *copies, struct phpcode *code)
{
	char function[PHPCODE_NAME_BYTES / 2], class_name[PHPCODE_NAME_BYTES / 2 - 4];
	struct abi_php layout;
	uint8_t type;

	*code = (struct phpcode){0};
	if (!php_layout(copies->version, &layout) ||
	    !memory_copy_get(&copies->function, 0, &type, sizeof(type)))
		return false;
	if (type != TYPE_INTERNAL) {
		read_string(&copies->file, code->file, sizeof(code->file));
		memory_copy_get(&copies->function, layout.file_at + 8u, &code->start_line,
				sizeof(code->start_line));
	}
	if (!read_function_name(copies, code, function, sizeof(function)))
		return false;
	if (!read_string(&copies->class_name, class_name, sizeof(class_name)))
		class_name[0] = '\0';
	snprintf(code->name, sizeof(code->name), "%s%s%s", class_name, *class_name ? "::" : "",
		 function);
	return true;
}
