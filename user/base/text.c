// SPDX-License-Identifier: BSD-2-Clause
/*
 * One decoder of UTF-8 (RFC 3629) serves all: copying walks the text a sequence at a time and replaces what
 * is invalid or not to be shown by "\xNN" for each of its bytes.
 *
 * Rejected: mbrtowc() and iswprint(), whose answers depend on the locale.
 */
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PART_BYTES 1024

/*
 * The length of the valid UTF-8 sequence at s (RFC 3629: shortest form, no surrogates, at most
 * U+10FFFF), with its code point; 0 where there is none.
 */
static size_t utf8_sequence(const unsigned char *s, uint32_t *point)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} forms[] = {
		{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	for (size_t len = 1; len <= 4; len++) {
		if ((s[0] & forms[len - 1].mask) != forms[len - 1].lead)
			continue;
		*point = s[0] & ~forms[len - 1].mask;
		for (size_t i = 1; i < len; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			*point = *point << 6 | (s[i] & 0x3f);
		}
		if (*point < forms[len - 1].least || *point > 0x10ffff ||
		    (*point >= 0xd800 && *point <= 0xdfff))
			return 0;
		return len;
	}
	return 0;
}

size_t text_put_utf8(uint32_t point, char to[4])
{
	static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
	size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

	for (size_t i = len - 1; i; i--) {
		to[i] = (char)(0x80 | (point & 0x3f));
		point >>= 6;
	}
	to[0] = (char)(leads[len - 1] | point);
	return len;
}

static bool is_unfit_to_show(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) ||
	       (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

static char *copy_text(const char *s, char *out, size_t out_bytes, bool to_show)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t used = 0;

	while (*p) {
		uint32_t point = 0;
		size_t len = utf8_sequence(p, &point);
		bool plain = len && !(to_show && is_unfit_to_show(point));
		char hex[20] = "";
		size_t nr_bytes = len ? len : 1, need;

		for (size_t i = 0; !plain && i < nr_bytes; i++)
			snprintf(hex + 4 * i, sizeof(hex) - 4 * i, "\\x%02x", p[i]);
		need = plain ? len : 4 * nr_bytes;
		if (used + need >= out_bytes)
			break;
		memcpy(out + used, plain ? (const char *)p : hex, need);
		used += need;
		p += nr_bytes;
	}
	out[used] = '\0';
	return out;
}

bool text_is_utf8(const char *s, size_t len)
{
	for (size_t at = 0, nr = 1; at < len; at += nr, nr = 1) {
		unsigned char next[5] = {0}; /* a NUL ends what the string cuts off */
		uint32_t point;

		if ((unsigned char)s[at] < 0x80)
			continue;
		memcpy(next, s + at, len - at < 4 ? len - at : 4);
		nr = utf8_sequence(next, &point);
		if (!nr)
			return false;
	}
	return true;
}

char *text_to_utf8(const char *s, char *out, size_t out_bytes)
{
	return copy_text(s, out, out_bytes, false);
}

char *text_escape(const char *s, char *out, size_t out_bytes)
{
	return copy_text(s, out, out_bytes, true);
}

char *text_escape_part(const char *s, size_t len, bool is_cut, char *out, size_t out_bytes)
{
	char raw[PART_BYTES + 1], whole[4 * PART_BYTES + 1]; /* a byte may become four: "\xNN" */
	size_t nr = strnlen(s, len);

	if (nr > PART_BYTES) {
		nr = PART_BYTES;
		is_cut = true;
	}
	memcpy(raw, s, nr);
	raw[nr] = '\0';
	text_escape(raw, whole, sizeof(whole));
	if (!is_cut && strlen(whole) < out_bytes)
		return strcpy(out, whole);
	text_escape(raw, out, out_bytes - strlen("..."));
	return strcat(out, "...");
}

const char *text_count(uint64_t value)
{
	static char buffers[8][32];
	static unsigned int turn;
	char digits[24], *out = buffers[turn++ % 8];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	char *p = out;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return out;
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void text_drop_cut_character(char *text)
{
	size_t len = strlen(text), at = len;

	while (at && ((uint8_t)text[at - 1] & 0xc0) == 0x80)
		at--;
	if (at && !text_is_utf8(text + at - 1, len - at + 1))
		text[at - 1] = '\0';
}
