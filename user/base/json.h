/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON (RFC 8259) as it goes, through a sink: nothing is held but a small buffer, so that a
 * document of any size costs the same. Commas and colons come by themselves:
 *
 *	struct json json;
 *	json_begin(&json, sink, ctx);
 *	json_object(&json);
 *	json_key(&json, "names"), json_array(&json);
 *	json_string(&json, "a\"b");
 *	json_end(&json);
 *	json_key(&json, "total"), json_int(&json, 7);
 *	json_end(&json);
 *	err = json_finish(&json);
 *
 * Strings are made valid UTF-8 (base/text.h). '<', '>', '&' and the separators U+2028 and U+2029 are
 * escaped, so that the text can stand inside a <script> of an HTML page. Pretty is not its business.
 *
 * Alternative rejected: libjson-c, jansson: they hold the document as a tree, many times its size.
 */
#ifndef CPROF_BASE_JSON_H
#define CPROF_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/textout.h"

#define JSON_MAX_DEPTH 32

struct json { /* private */
	struct text_out out;
	char closers[JSON_MAX_DEPTH]; /* '}' or ']' of what is open */
	unsigned int depth;
	bool comma; /* something stands before in what is open */
};

void json_begin(struct json *json, sink_fn sink, void *ctx);
int json_finish(struct json *json); /* the error of it all; everything must be closed */

void json_object(struct json *json);
void json_array(struct json *json);
void json_end(struct json *json); /* of the innermost object or array */
void json_key(struct json *json, const char *key);

void json_string(struct json *json, const char *s);
void json_int(struct json *json, int64_t value);
void json_uint(struct json *json, uint64_t value);
void json_real(struct json *json, double value); /* not finite: null */
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

#endif
