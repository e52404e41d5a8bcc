// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each text_take...() works on a copy of the view and stores it back only when everything was
 * there, so that a caller can try one reading after another without undoing anything. Numbers are
 * summed with overflow checks; strtol() would need NUL-terminated text, skip blanks and depend on
 * the locale.
 */
#include "input/lines.h"

#include <ctype.h>
#include <string.h>

bool lines_next(struct lines *lines, struct text *line)
{
	const char *end;

	if (lines->at == lines->end)
		return false;
	end = memchr(lines->at, '\n', lines->end - lines->at);
	*line = (struct text){lines->at, (end ? end : lines->end) - lines->at};
	lines->at = end ? end + 1 : lines->end;
	if (line->len && line->at[line->len - 1] == '\r')
		line->len--;
	lines->line = *line;
	lines->nr++;
	return true;
}

bool lines_next_said(struct lines *lines, struct text *line)
{
	while (lines_next(lines, line))
		if (!text_is_comment(*line))
			return true;
	*line = (struct text){"", 0};
	return false;
}

static bool is_space(char c)
{
	return isspace((unsigned char)c);
}

struct text text_trim(struct text text)
{
	text_skip_spaces(&text);
	while (text.len && is_space(text.at[text.len - 1]))
		text.len--;
	return text;
}

bool text_is_blank(struct text text)
{
	text_skip_spaces(&text);
	return !text.len;
}

bool text_is_comment(struct text text)
{
	text_skip_spaces(&text);
	return !text.len || *text.at == '#';
}

bool text_starts(struct text text, const char *prefix)
{
	return text_take_word(&text, prefix);
}

bool text_equals(struct text text, const char *s)
{
	return text.len == strlen(s) && !memcmp(text.at, s, text.len);
}

const char *text_find(struct text text, const char *word)
{
	return memmem(text.at, text.len, word, strlen(word));
}

static void advance(struct text *text, size_t nr)
{
	text->at += nr;
	text->len -= nr;
}

void text_skip_spaces(struct text *text)
{
	while (text->len && is_space(*text->at))
		advance(text, 1);
}

void text_skip(struct text *text, char c)
{
	while (text->len && *text->at == c)
		advance(text, 1);
}

bool text_take(struct text *text, char c)
{
	if (!text->len || *text->at != c)
		return false;
	advance(text, 1);
	return true;
}

bool text_take_word(struct text *text, const char *word)
{
	size_t len = strlen(word);

	if (text->len < len || memcmp(text->at, word, len))
		return false;
	advance(text, len);
	return true;
}

bool text_take_int(struct text *text, int64_t *value)
{
	struct text rest = *text;
	bool negative = text_take(&rest, '-');
	int64_t n = 0;
	size_t nr = 0;

	for (; nr < rest.len && isdigit((unsigned char)rest.at[nr]); nr++) {
		int digit = rest.at[nr] - '0';

		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, negative ? -digit : digit, &n))
			return false;
	}
	if (!nr)
		return false;
	advance(&rest, nr);
	*text = rest;
	*value = n;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool text_take_digits(struct text *text, struct text *digits)
{
	size_t nr = 0;

	while (nr < text->len && isdigit((unsigned char)text->at[nr]))
		nr++;
	if (!nr)
		return false;
	*digits = (struct text){text->at, nr};
	advance(text, nr);
	return true;
}

/* The base that the first letters of a number say, if they do; they are taken. */
static int take_base(struct text *text)
{
	if (text->len < 2 || !text_take(text, '0'))
		return 10;
	switch (*text->at | 0x20) {
	case 'x':
		advance(text, 1);
		return 16;
	case 'b':
		advance(text, 1);
		return 2;
	case 'o':
		advance(text, 1);
		return 8;
	}
	return 8;
}

bool text_go_int(struct text text, int64_t *value)
{
	bool negative = text_take(&text, '-'), after_digit;
	int64_t n = 0;
	size_t len;
	int base;

	if (!negative)
		text_take(&text, '+');
	len = text.len;
	base = take_base(&text);
	after_digit = text.len < len; /* a '_' may stand behind 0x, too */
	if (!text.len)
		return false;
	for (; text.len; advance(&text, 1)) {
		int digit = hex_digit(*text.at);

		if (*text.at == '_' && !after_digit)
			return false;
		after_digit = *text.at != '_';
		if (!after_digit)
			continue;
		if (digit < 0 || digit >= base || __builtin_mul_overflow(n, base, &n) ||
		    __builtin_add_overflow(n, negative ? -digit : digit, &n))
			return false;
	}
	*value = n;
	return after_digit;
}

bool text_take_hex(struct text *text, uint64_t *value)
{
	struct text rest = *text;
	uint64_t n = 0;
	size_t nr = 0;

	if (rest.len > 2 && rest.at[0] == '0' && (rest.at[1] | 0x20) == 'x')
		advance(&rest, 2);
	for (; nr < rest.len && hex_digit(rest.at[nr]) >= 0; nr++) {
		if (n >> 60)
			return false;
		n = n << 4 | hex_digit(rest.at[nr]);
	}
	if (!nr)
		return false;
	advance(&rest, nr);
	*text = rest;
	*value = n;
	return true;
}

bool text_take_token(struct text *text, struct text *token)
{
	size_t nr = 0;

	text_skip_spaces(text);
	while (nr < text->len && !is_space(text->at[nr]))
		nr++;
	if (!nr)
		return false;
	*token = (struct text){text->at, nr};
	advance(text, nr);
	return true;
}
