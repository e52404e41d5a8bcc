// SPDX-License-Identifier: BSD-2-Clause
/*
 * In steps of 1 MB of either side: a stream can be long and give nothing (empty blocks), or short and give much.
 *
 * Rejected: elf_compress(), which cannot be interrupted, keeps the compressed bytes beside the others, takes twice as long
 * for zlib as ISA-L, and in Debian 12 does not know zstd. libzstd is not needed to build cprof: only files of the newest
 * distributions have such sections.
 */
#include "object/inflate.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <stdint.h>

#if CPROF_HAS_ZSTD
#include <zstd.h>
#endif

#include "base/alloc.h"

#define STEP_BYTES (1u << 20)

/* Both ends of a stream that is being decompressed. */
struct ends {
	const uint8_t *in;
	size_t in_bytes; /* left */
	uint8_t *out;
	size_t out_bytes; /* left */
	struct workbudget *budget;
};

static size_t at_most_a_step(size_t len_bytes)
{
	return len_bytes < STEP_BYTES ? len_bytes : STEP_BYTES;
}

static void advance(struct ends *ends, size_t taken_bytes, size_t given_bytes)
{
	ends->in += taken_bytes;
	ends->in_bytes -= taken_bytes;
	ends->out += given_bytes;
	ends->out_bytes -= given_bytes;
}

/* After a step that is not the last. */
static int check_step(const struct ends *ends, size_t taken_bytes, size_t given_bytes)
{
	if (!taken_bytes && !given_bytes)
		return -EBADMSG;
	return ends->budget && workbudget_is_over(ends->budget) ? -ETIME : 0;
}

static int check_end(const struct ends *ends)
{
	return ends->in_bytes || ends->out_bytes ? -EBADMSG : 0;
}

static int inflate_zlib(struct ends *ends)
{
	struct inflate_state *stream scoped(freep) = xmalloc(sizeof(*stream));
	int err = 0;

	isal_inflate_init(stream);
	stream->crc_flag = ISAL_ZLIB;
	while (!err) {
		uint32_t in_bytes = at_most_a_step(ends->in_bytes),
			 out_bytes = at_most_a_step(ends->out_bytes);

		stream->next_in = (uint8_t *)ends->in;
		stream->avail_in = in_bytes;
		stream->next_out = ends->out;
		stream->avail_out = out_bytes;
		if (isal_inflate(stream) != ISAL_DECOMP_OK)
			return -EBADMSG;
		advance(ends, in_bytes - stream->avail_in, out_bytes - stream->avail_out);
		if (stream->block_state == ISAL_BLOCK_FINISH)
			return check_end(ends);
		err = check_step(ends, in_bytes - stream->avail_in, out_bytes - stream->avail_out);
	}
	return err;
}

#if CPROF_HAS_ZSTD
static void free_stream(ZSTD_DStream **stream)
{
	ZSTD_freeDStream(*stream);
}

/* A section may be of several frames; the last one ends where the section does. */
static int inflate_zstd(struct ends *ends)
{
	ZSTD_DStream *stream scoped(free_stream) = ZSTD_createDStream();
	size_t left = 1;
	int err = stream ? 0 : -ENOMEM;

	while (!err && (left || ends->in_bytes)) {
		ZSTD_inBuffer in = {ends->in, at_most_a_step(ends->in_bytes), 0};
		ZSTD_outBuffer out = {ends->out, at_most_a_step(ends->out_bytes), 0};

		left = ZSTD_decompressStream(stream, &out, &in);
		if (ZSTD_isError(left))
			return -EBADMSG;
		advance(ends, in.pos, out.pos);
		err = check_step(ends, in.pos, out.pos);
	}
	return err ? err : check_end(ends);
}
#else
static int inflate_zstd(struct ends *ends)
{
	(void)ends;
	return -EOPNOTSUPP;
}
#endif

bool inflate_knows(enum inflate_method method)
{
	return method == INFLATE_ZLIB || CPROF_HAS_ZSTD;
}

int inflate_all(enum inflate_method method, const void *in, size_t in_bytes, void *out,
		size_t out_bytes, struct workbudget *budget)
{
	struct ends ends = {in, in_bytes, out, out_bytes, budget};

	if (budget && workbudget_is_over(budget))
		return -ETIME;
	return method == INFLATE_ZLIB ? inflate_zlib(&ends) : inflate_zstd(&ends);
}
