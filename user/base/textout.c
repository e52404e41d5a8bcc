// SPDX-License-Identifier: BSD-2-Clause
/*
 * A buffer of 64 KiB is passed to the sink whenever it is full. Formatted text is printed straight into the
 * buffer; only where it does not fit is it printed a second time, to a block of its own.
 */
#include "base/textout.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define BUFFER_BYTES (64 * 1024)

void text_out_open(struct text_out *out, sink_fn sink, void *ctx)
{
	*out = (struct text_out){.sink = sink, .ctx = ctx, .buffer = xmalloc(BUFFER_BYTES)};
}

static void flush(struct text_out *out)
{
	if (!out->err && out->used)
		out->err = out->sink(out->ctx, out->buffer, out->used);
	out->used = 0;
}

int text_out_close(struct text_out *out)
{
	flush(out);
	free(out->buffer);
	return out->err;
}

void text_out_print(struct text_out *out, const char *fmt, ...)
{
	size_t room = BUFFER_BYTES - out->used;
	char *text scoped(freep) = NULL;
	va_list args, again;
	int len;

	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(out->buffer + out->used, room, fmt, args);
	if (len < 0)
		out->err = out->err ? out->err : -errno;
	else if ((size_t)len < room)
		out->used += len;
	else
		text = xmalloc((size_t)len + 1);
	if (text) { /* it did not fit */
		vsnprintf(text, (size_t)len + 1, fmt, again);
		text_out_write(out, text, len);
	}
	va_end(again);
	va_end(args);
}

void text_out_write(struct text_out *out, const char *bytes, size_t len_bytes)
{
	while (len_bytes) {
		size_t nr = BUFFER_BYTES - out->used;

		if (nr > len_bytes)
			nr = len_bytes;
		memcpy(out->buffer + out->used, bytes, nr);
		out->used += nr;
		bytes += nr;
		len_bytes -= nr;
		if (out->used == BUFFER_BYTES)
			flush(out);
	}
}
