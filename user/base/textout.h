/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered output of text through a sink, shared by all text formats.
 *
 *	struct text_out out;
 *	text_out_open(&out, sink, ctx);
 *	text_out_print(&out, "%s %d\n", name, 7);
 *	err = text_out_close(&out);
 */
#ifndef CPROF_BASE_TEXTOUT_H
#define CPROF_BASE_TEXTOUT_H

#include <stddef.h>

/*
 * The most that a format should write which repeats names for every stack: a small file may ask for any amount, and
 * nobody reads more.
 */
#define TEXT_OUT_MAX_BYTES (2ul << 30)

/* Takes all of the len_bytes bytes at bytes. 0, or -errno: then nothing more is written. */
typedef int (*sink_fn)(void *ctx, const void *bytes, size_t len_bytes);

struct text_out { /* private */
	sink_fn sink;
	void *ctx;
	char *buffer;
	size_t used;
	int err; /* the first error; nothing is written after it */
};

/* Starts output to sink, which is passed ctx. Every text_out_open() needs one text_out_close(). */
void text_out_open(struct text_out *out, sink_fn sink, void *ctx);
/* Writes what is buffered and frees the buffer: 0, or the first error. */
int text_out_close(struct text_out *out);
/* Append formatted text, or len_bytes bytes. Errors wait for text_out_close(). */
void text_out_print(struct text_out *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void text_out_write(struct text_out *out, const char *bytes, size_t len_bytes);

#endif
