/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON (RFC 8259) through a sink, in bounded memory.
 *
 * Only a small buffer is held, so a document of any size costs the same. Commas and colons are written
 * automatically:
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
 * escaped, so that the text can stand inside a <script> of an HTML page. There is no pretty-printing.
 *
 * Rejected: libjson-c and jansson, which hold the document as a tree, many times its size.
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
	bool comma; /* the next key or value needs a comma before it */
};

/* Starts a document; ctx is passed to sink. Every json_begin() needs one json_finish(). */
void json_begin(struct json *json, sink_fn sink, void *ctx);
/* Ends the document and frees the buffer: 0, or the first error of the sink. All must be closed by then. */
int json_finish(struct json *json);

/* Open an object or an array, at most JSON_MAX_DEPTH deep; json_end() closes the innermost one. */
void json_object(struct json *json);
void json_array(struct json *json);
void json_end(struct json *json);
/* A key of the open object; its value comes next. */
void json_key(struct json *json, const char *key);

/* Values. A real that is not finite is written as null. */
void json_string(struct json *json, const char *s);
void json_int(struct json *json, int64_t value);
void json_uint(struct json *json, uint64_t value);
void json_real(struct json *json, double value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

#endif
