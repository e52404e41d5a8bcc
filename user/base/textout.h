/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes through a sink, gathered in one buffer: what all writers of text share.
 *
 *	struct text_out out;
 *	text_out_open(&out, sink, ctx);
 *	text_out_print(&out, "%s %d\n", name, 7);
 *	err = text_out_close(&out);
 */
#ifndef CPROF_BASE_TEXTOUT_H
#define CPROF_BASE_TEXTOUT_H

#include <stddef.h>

/* Takes len_bytes bytes, all of them. 0 or -errno, which ends the writing. */
typedef int (*sink_fn)(void *ctx, const void *bytes, size_t len_bytes);

struct text_out { /* private */
	sink_fn sink;
	void *ctx;
	char *buffer;
	size_t used;
	int err; /* the first one; nothing is written after it */
};

void text_out_open(struct text_out *out, sink_fn sink, void *ctx);
int text_out_close(struct text_out *out); /* the error of it all */
void text_out_print(struct text_out *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void text_out_write(struct text_out *out, const char *bytes, size_t len_bytes);

#endif
