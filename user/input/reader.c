// SPDX-License-Identifier: BSD-2-Clause
/*
 * Messages may quote the file: they are escaped here, once for all readers, so that no file can
 * write control sequences to a terminal. Strings of a file are kept byte by byte, valid UTF-8 or
 * not: what was read must come out again as it was.
 */
#include "input/reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define SHOWN_BYTES 60 /* of a line that is wrong */

static void describe(struct input_error *error, const char *fmt, va_list ap)
{
	char raw[sizeof(error->message)];

	vsnprintf(raw, sizeof(raw), fmt, ap);
	text_escape(raw, error->message, sizeof(error->message));
}

int input_fail(struct input_error *error, int err, uint64_t offset, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	describe(error, fmt, ap);
	va_end(ap);
	error->offset = offset;
	error->line = 0;
	return err;
}

int input_fail_line(struct input_error *error, int err, uint64_t line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	describe(error, fmt, ap);
	va_end(ap);
	error->offset = INPUT_NO_OFFSET;
	error->line = line;
	return err;
}

struct lines input_lines(const struct source *source)
{
	const char *text = (const char *)source->bytes;

	return (struct lines){.at = text, .end = text + source->len};
}

struct text input_first_line(const struct source *source)
{
	struct lines lines = input_lines(source);
	struct text line;

	lines_next_said(&lines, &line);
	return line;
}

int input_fail_text(struct input_error *error, const struct lines *lines, const char *what)
{
	int len = lines->line.len < SHOWN_BYTES ? lines->line.len : SHOWN_BYTES;

	return input_fail_line(error, -EBADMSG, lines->nr, "%s: '%.*s'", what, len, lines->line.at);
}

uint32_t input_string(struct profile *profile, const void *bytes, size_t len)
{
	const char *s = bytes;
	char *copy scoped(freep) = NULL;
	size_t used = 0;

	if (!len || !memchr(s, '\0', len))
		return strtab_intern_len(&profile->strings, s, len);
	copy = xreallocarray(NULL, len, 4);
	for (size_t i = 0; i < len; i++) {
		if (s[i]) {
			copy[used++] = s[i];
		} else {
			memcpy(copy + used, "\\x00", 4);
			used += 4;
		}
	}
	return strtab_intern_len(&profile->strings, copy, used);
}
