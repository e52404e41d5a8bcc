/* SPDX-License-Identifier: BSD-2-Clause */
/* Text through a sink, gathered in one buffer: what the writers of text formats share. */
#ifndef CPROF_OUTPUT_TEXTOUT_H
#define CPROF_OUTPUT_TEXTOUT_H

#include <stddef.h>

#include "output/pprof.h"

struct text_out {
	pprof_sink_fn sink;
	void *ctx;
	char *buffer; /* private */
	size_t used;
	int err; /* the first one; nothing is written after it */
};

void text_out_open(struct text_out *out, pprof_sink_fn sink, void *ctx);
int text_out_close(struct text_out *out); /* the error of it all */
/* What is longer than the buffer (64 KiB) is -EOVERFLOW: use text_out_write() for such. */
void text_out_print(struct text_out *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void text_out_write(struct text_out *out, const char *bytes, size_t len_bytes);

#endif
