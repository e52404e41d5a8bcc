/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads text line by line, and takes words and numbers from a line. Nothing is copied: a line is a view
 * of the bytes, and taking something advances its start.
 *
 *	struct lines lines = {.at = bytes, .end = bytes + len};
 *	struct text line;
 *	while (lines_next(&lines, &line)) {
 *		int64_t nr;
 *		if (text_take_int(&line, &nr) && text_take(&line, ':')) ...
 */
#ifndef CPROF_INPUT_LINES_H
#define CPROF_INPUT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text { /* not NUL-terminated */
	const char *at;
	size_t len;
};

struct lines {
	const char *at, *end; /* the rest */
	uint64_t nr;	      /* number of the last line, from 1 */
	struct text line;     /* the last line */
};

/* The next line, without its end ("\n" or "\r\n"). false: there is none. */
bool lines_next(struct lines *lines, struct text *line);
/* The next line that is neither blank nor a comment. false: there is none, and *line is empty. */
bool lines_next_said(struct lines *lines, struct text *line);

bool text_is_blank(struct text text); /* white space only */
/* Blank, or a comment that begins with '#'. */
bool text_is_comment(struct text text);
bool text_starts(struct text text, const char *prefix);
bool text_equals(struct text text, const char *s);
/* Finds word in text; NULL: it is not there. */
const char *text_find(struct text text, const char *word);
struct text text_trim(struct text text);

/*
 * Whether all of text is a number as Go writes it: decimal, or of another base behind 0x, 0b, 0o or 0, with
 * or without a sign, with or without '_' between digits, and within 64 bits.
 */
bool text_go_int(struct text text, int64_t *value);

/* Each of these returns false, and takes nothing, if the text does not continue that way. */
void text_skip_spaces(struct text *text);
void text_skip(struct text *text, char c); /* all of them */
bool text_take(struct text *text, char c);
bool text_take_word(struct text *text, const char *word);
/* A decimal number, with or without a sign, that fits. */
bool text_take_int(struct text *text, int64_t *value);
/* The leading digits, at least one. */
bool text_take_digits(struct text *text, struct text *digits);
/* Hexadecimal digits, in lower or upper case, with or without "0x". */
bool text_take_hex(struct text *text, uint64_t *value);
/* The next word, at least one character; leading white space is skipped. */
bool text_take_token(struct text *text, struct text *token);

#endif
