/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of functions that runtimes interpret, from the texts that BPF sends when it meets one for the first time.
 *
 * A function is known by its process and by 64 bits of its address and its content, so that what takes the place of another has
 * a name of its own. Texts are kept as they came; the parser is asked for the name when a profile needs it.
 */
#ifndef CPROF_RECORD_FRAMENAMES_H
#define CPROF_RECORD_FRAMENAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/parser.h"
#include "stream.h"

struct framenames;

#define FRAMENAMES_BYTES ((size_t)256 << 20)

/*
 * parser is borrowed until framenames_free(). Never NULL. Functions that come when about most_bytes are held (FRAMENAMES_BYTES
 * in a run) have no names.
 */
struct framenames *framenames_new(struct parser *parser, size_t most_bytes);
void framenames_free(struct framenames *names); /* NULL is fine */

/* Takes in a text, copied. What came before is kept. */
void framenames_text(struct framenames *names, const struct runtime_text *text);

/* A function, and the line of a place in it. */
struct framename {
	uint32_t function;   /* its number here */
	uint32_t runtime;    /* its kind and version: ABI_RUNTIME() */
	const char *name;    /* "json.decoder.JSONDecoder.decode" */
	const char *file;    /* "" if it is not known */
	uint32_t line;	     /* 0: not known */
	uint32_t start_line; /* 0: not known */
};

enum framename_state {
	FRAMENAME_FOUND,
	FRAMENAME_GONE,	   /* its texts never came, or do not name it */
	FRAMENAME_NO_TIME, /* it was not asked for */
};

/*
 * The frame of a process, in *found, which is borrowed until framenames_free(); untouched unless it is found. may_ask: the
 * parser, too, and not only what it has said before.
 */
enum framename_state framenames_find(struct framenames *names, uint32_t tgid, uint64_t start_ns,
				     const struct shadow_frame *frame, bool may_ask,
				     struct framename *found);

#endif
