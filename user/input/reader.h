/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of an input format's reader, and what readers share. To add a format: a file with
 *
 *	bool NAME_detect(const struct source *source);
 *	int NAME_read(const struct source *source, struct profile *profile, struct input_error *error);
 *
 * and a row in the table of input.c. A reader gets all of the inflated bytes, fills an empty profile, and
 * returns 0 or input_fail(); on failure the caller frees the profile.
 */
#ifndef CPROF_INPUT_READER_H
#define CPROF_INPUT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input/input.h"
#include "input/lines.h"

struct source {
	const uint8_t *bytes;
	size_t len;
	const struct input_limits *limits;
};

/* Fills *error (line 0) and returns err, so that reporting and returning are one expression. */
int input_fail(struct input_error *error, int err, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same for a text format; line counts from 1. */
int input_fail_line(struct input_error *error, int err, uint64_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The lines of a text, from the first. */
struct lines input_lines(const struct source *source);
/* The first line that is neither blank nor a comment; empty if there is none. */
struct text input_first_line(const struct source *source);
/* -EBADMSG for the line that was read last; the message is what, and the beginning of the line. */
int input_fail_text(struct input_error *error, const struct lines *lines, const char *what);

/*
 * The id of len bytes of a file in the profile's string table. They are kept as they are, valid UTF-8 or
 * not; only a NUL becomes the four characters "\x00".
 */
uint32_t input_string(struct profile *profile, const void *bytes, size_t len);

#endif
