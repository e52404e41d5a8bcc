// SPDX-License-Identifier: BSD-2-Clause
/* Lines are looked at where they are in a block that was read; the rest of the last one moves to the start of the next. */
#include "runtime/perfmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define BLOCK_BYTES (64u << 10) /* longer lines are skipped */

struct line {
	uint64_t start, limit, end_off;
	const char *name;
	size_t name_bytes;
};

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A number with or without "0x", and the blanks behind it. */
static bool take_number(const char **at, const char *end, uint64_t *number)
{
	const char *first;
	uint64_t value = 0;

	if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] | 0x20) == 'x')
		*at += 2;
	for (first = *at; *at < end && digit_of(**at) >= 0; (*at)++) {
		if (*at - first >= 16)
			return false;
		value = value << 4 | (uint64_t)digit_of(**at);
	}
	if (*at == first || *at == end || **at != ' ')
		return false;
	while (*at < end && **at == ' ')
		(*at)++;
	*number = value;
	return true;
}

static bool parse(const char *at, const char *end, struct line *line)
{
	uint64_t size;

	if (end > at && end[-1] == '\r')
		end--;
	if (!take_number(&at, end, &line->start) || !take_number(&at, end, &size) || at == end ||
	    !size || __builtin_add_overflow(line->start, size, &line->limit) ||
	    memchr(at, '\0', (size_t)(end - at)))
		return false;
	line->name = at;
	line->name_bytes = (size_t)(end - at);
	return true;
}

static void answer(const struct line *line, struct jitsym_query *queries, size_t nr)
{
	size_t len = line->name_bytes < JITSYM_NAME_BYTES ? line->name_bytes
							  : JITSYM_NAME_BYTES - 1;

	for (size_t i = jitsymquery_first(queries, nr, line->start);
	     i < nr && queries[i].ip < line->limit; i++) {
		if (!jitsymquery_is_better(&queries[i], *queries[i].name, line->end_off))
			continue;
		queries[i].start = line->start;
		queries[i].limit = line->limit;
		queries[i].since_ns = line->end_off;
		memcpy(queries[i].name, line->name, len);
		queries[i].name[len] = '\0';
	}
}

/* All finished lines of a block, which begins at off. How many bytes are left of an unfinished one. */
static size_t read_lines(char *block, size_t len, uint64_t off, bool *is_skipping,
			 struct jitsym_query *queries, size_t nr)
{
	const char *at = block, *end = block + len, *newline;
	struct line line;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		line.end_off = off + (uint64_t)(newline + 1 - block);
		if (!*is_skipping && parse(at, newline, &line))
			answer(&line, queries, nr);
		*is_skipping = false;
		at = newline + 1;
	}
	len = (size_t)(end - at);
	if (len == BLOCK_BYTES) { /* one line that is longer */
		*is_skipping = true;
		return 0;
	}
	memmove(block, at, len);
	return len;
}

void perfmap_find(const struct jitsym_source *source, struct jitsym_query *queries, size_t nr)
{
	char *block scoped(freep) = xmalloc(BLOCK_BYTES);
	bool is_skipping = false;
	size_t left = 0, len;

	for (uint64_t off = 0; off < PERFMAP_MAX_BYTES; off += len) {
		len = source->read(source->ctx, off, block + left, BLOCK_BYTES - left);
		if (!len)
			return;
		left = read_lines(block, left + len, off - left, &is_skipping, queries, nr);
	}
}
