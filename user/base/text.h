/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text that a target chose (a comm, a path, a symbol) is data: it may hold escape sequences for the
 * terminal, broken UTF-8, newlines. These make it fit to store and fit to show.
 */
#ifndef CPROF_BASE_TEXT_H
#define CPROF_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Are these len bytes, NULs and all, valid UTF-8? */
bool text_is_utf8(const char *s, size_t len);

/*
 * Copies s into out (out_bytes > 0, always NUL-terminated) as valid UTF-8: every byte that does not
 * belong to a valid sequence becomes "\xNN". Cut at a character boundary when out is too short.
 * Returns out.
 */
char *text_to_utf8(const char *s, char *out, size_t out_bytes);

/* The same, and control characters (C0, DEL, C1) and bidirectional overrides become "\xNN" too. */
char *text_escape(const char *s, char *out, size_t out_bytes);

/*
 * 1234567 as "1,234,567", in one of a few rotating static buffers: for printf arguments only.
 */
const char *text_count(uint64_t value);

/* What stands after the last '/' of a path: a part of it. */
const char *text_base_name(const char *path);

#endif
