// SPDX-License-Identifier: BSD-2-Clause
#include "output/gzip.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"

#define LEVEL	      3
#define STRETCH_BYTES (1u << 30) /* ISA-L counts in uint32_t */

struct gzip {
	gzip_sink_fn sink;
	void *ctx;
	int err; /* the first one; nothing is done after it */
	struct isal_zstream stream;
	uint8_t level_buffer[ISAL_DEF_LVL3_DEFAULT];
	uint8_t out[64 * 1024];
};

struct gzip *gzip_new(gzip_sink_fn sink, void *ctx)
{
	struct gzip *gzip = xcalloc(1, sizeof(*gzip));

	gzip->sink = sink;
	gzip->ctx = ctx;
	isal_deflate_init(&gzip->stream);
	gzip->stream.gzip_flag = IGZIP_GZIP;
	gzip->stream.level = LEVEL;
	gzip->stream.level_buf = gzip->level_buffer;
	gzip->stream.level_buf_size = sizeof(gzip->level_buffer);
	return gzip;
}

/* Until it asks for more. */
static void compress_all(struct gzip *gzip)
{
	struct isal_zstream *stream = &gzip->stream;

	do {
		size_t nr_out;

		stream->next_out = gzip->out;
		stream->avail_out = sizeof(gzip->out);
		if (isal_deflate(stream) != COMP_OK) {
			gzip->err = -EIO;
			return;
		}
		nr_out = sizeof(gzip->out) - stream->avail_out;
		if (nr_out)
			gzip->err = gzip->sink(gzip->ctx, gzip->out, nr_out);
	} while (!gzip->err && !stream->avail_out);
}

int gzip_write(void *ctx, const void *bytes, size_t len_bytes)
{
	struct gzip *gzip = ctx;
	const uint8_t *p = bytes;

	while (!gzip->err && len_bytes) {
		uint32_t len = len_bytes < STRETCH_BYTES ? len_bytes : STRETCH_BYTES;

		gzip->stream.next_in = (uint8_t *)p;
		gzip->stream.avail_in = len;
		compress_all(gzip);
		p += len;
		len_bytes -= len;
	}
	return gzip->err;
}

int gzip_finish(struct gzip *gzip)
{
	int err;

	gzip->stream.end_of_stream = 1;
	gzip->stream.avail_in = 0;
	if (!gzip->err)
		compress_all(gzip);
	err = gzip->err;
	free(gzip);
	return err;
}
