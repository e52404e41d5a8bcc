/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes text from targets (a comm, a path, a symbol) fit to store and safe to show.
 *
 * Such text is data: it may hold escape sequences for the terminal, invalid UTF-8, newlines.
 */
#ifndef CPROF_BASE_TEXT_H
#define CPROF_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the len bytes at s are valid UTF-8; NULs count as characters. */
bool text_is_utf8(const char *s, size_t len);

/*
 * Puts a character into to as UTF-8: point is at most 0x10ffff, and no surrogate. Returns how many bytes it has there, 1 to 4.
 */
size_t text_put_utf8(uint32_t point, char to[4]);

/*
 * Copies s into out (out_bytes > 0, always NUL-terminated) as valid UTF-8: every byte that does not
 * belong to a valid sequence becomes "\xNN". Cut at a character boundary when out is too short.
 * Returns out.
 */
char *text_to_utf8(const char *s, char *out, size_t out_bytes);

/* Like text_to_utf8(), but control characters (C0, DEL, C1) and bidirectional overrides become "\xNN" too. */
char *text_escape(const char *s, char *out, size_t out_bytes);

/*
 * Like text_escape(), of the first len bytes of s, up to a NUL, of which 1,024 are looked at. Ends with "..." where not all of it has
 * room in out (out_bytes > 3), or is_cut: s is itself only the beginning of something. Returns out.
 */
char *text_escape_part(const char *s, size_t len, bool is_cut, char *out, size_t out_bytes);

/* Removes what is left of a character at the end of a text that was cut and is valid UTF-8 up to there. */
void text_drop_cut_character(char *text);

/* 1234567 as "1,234,567", in one of eight rotating static buffers: for printf arguments only. */
const char *text_count(uint64_t value);

/* The part of path after its last '/', or all of it. Borrowed from path. */
const char *text_base_name(const char *path);

#endif
