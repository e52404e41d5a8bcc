// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes each token as soon as it is known. All the state is a stack of closing brackets and a flag that
 * says whether the next token needs a comma. A document that nests too deeply or is not closed is a mistake
 * in the source, and aborts.
 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

static void put(struct json *json, const char *bytes, size_t len)
{
	text_out_write(&json->out, bytes, len);
}

/* Before a value or a key. */
static void separate(struct json *json)
{
	if (json->comma)
		put(json, ",", 1);
	json->comma = true;
}

void json_begin(struct json *json, sink_fn sink, void *ctx)
{
	*json = (struct json){.depth = 0};
	text_out_open(&json->out, sink, ctx);
}

int json_finish(struct json *json)
{
	if (json->depth)
		abort(); /* a mistake in the source: something is still open */
	return text_out_close(&json->out);
}

static void json_open(struct json *json, char opener, char closer)
{
	if (json->depth == JSON_MAX_DEPTH)
		abort(); /* a mistake in the source: data does not nest */
	separate(json);
	put(json, &opener, 1);
	json->closers[json->depth++] = closer;
	json->comma = false;
}

void json_object(struct json *json)
{
	json_open(json, '{', '}');
}

void json_array(struct json *json)
{
	json_open(json, '[', ']');
}

void json_end(struct json *json)
{
	if (!json->depth)
		abort(); /* a mistake in the source: nothing is open */
	put(json, &json->closers[--json->depth], 1);
	json->comma = true;
}

/* How many bytes of s the escape of its first byte stands for; 0: none is needed. */
static size_t escape(const char *s, char out[8])
{
	unsigned char c = *s;

	if (c == '"' || c == '\\') {
		snprintf(out, 8, "\\%c", c);
		return 1;
	}
	if (c < 0x20 || c == '<' || c == '>' || c == '&' || c == 0x7f) {
		snprintf(out, 8, "\\u%04x", c);
		return 1;
	}
	if (c == 0xe2 && (unsigned char)s[1] == 0x80 && ((unsigned char)s[2] | 1) == 0xa9) {
		snprintf(out, 8, "\\u20%02x", (unsigned char)s[2] == 0xa8 ? 0x28 : 0x29);
		return 3;
	}
	return 0;
}

static void put_string(struct json *json, const char *s)
{
	put(json, "\"", 1);
	while (*s) {
		char escaped[8];
		size_t nr = 0, taken = 0;

		while (s[nr] && !(taken = escape(s + nr, escaped)))
			nr++;
		put(json, s, nr);
		if (taken)
			put(json, escaped, strlen(escaped));
		s += nr + taken;
	}
	put(json, "\"", 1);
}

void json_string(struct json *json, const char *s)
{
	char small[512], *large scoped(freep) = NULL;
	size_t need = 4 * strlen(s) + 1; /* every byte may become "\xNN" */

	separate(json);
	if (need > sizeof(small))
		large = xmalloc(need);
	put_string(json, text_to_utf8(s, large ? large : small, large ? need : sizeof(small)));
}

void json_key(struct json *json, const char *key)
{
	json_string(json, key);
	put(json, ":", 1);
	json->comma = false;
}

static void put_word(struct json *json, const char *word)
{
	separate(json);
	put(json, word, strlen(word));
}

void json_int(struct json *json, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	put_word(json, text);
}

void json_uint(struct json *json, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	put_word(json, text);
}

void json_real(struct json *json, double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.15g", value);
	put_word(json, isfinite(value) ? text : "null");
}

void json_bool(struct json *json, bool value)
{
	put_word(json, value ? "true" : "false");
}

void json_null(struct json *json)
{
	put_word(json, "null");
}
