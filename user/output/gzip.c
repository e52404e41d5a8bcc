// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is written is gathered in blocks, and each is compressed by itself: what comes out depends on
 * nothing but what came in, and two can be at work. With a small profile there is one of them, and
 * behind the first few comes a thread:
 *
 *	gzip_write	fills 0   fills 1   fills 2, 3; no block is free: compresses 3  writes 0, 1 ...
 *	thread		          compresses 0   compresses 1    compresses 2
 *
 *	head | block 0 | block 1 | ... | the last one, marked as such | CRC of all, length of all
 *
 * A block before the last ends with an empty stored one, which fills up its last byte, so that blocks
 * can be put behind one another. (As pigz does it; but without the 32 KB before it as a dictionary,
 * which would make files smaller by 1 %.) Blocks are taken up and written in their
 * order. The lock is held to look at their states, never to work.
 */
#include "output/gzip.h"

#include <endian.h>
#include <errno.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/thread.h"

#define LEVEL		3
#define BLOCK_BYTES	(256 * 1024)
#define OUT_BYTES	(BLOCK_BYTES + BLOCK_BYTES / 64) /* stored blocks have heads of 5 bytes */
#define NR_BLOCKS	4
#define NR_BLOCKS_ALONE 4 /* a thread costs as much as to compress some 10 KB */

/* RFC 1952: magic, deflate, no flags, no time, nothing said of the effort, Unix. */
static const uint8_t head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};

struct compressor {
	struct isal_zstream stream;
	uint8_t level_buffer[ISAL_DEF_LVL3_DEFAULT];
};

enum block_state {
	BLOCK_FREE,
	BLOCK_FULL,
	BLOCK_TAKEN,
	BLOCK_DONE
};

struct block {
	enum block_state state;
	bool is_last;
	uint8_t *in, *out;
	size_t nr_in, nr_out;
	uint32_t crc; /* of in */
	int err;
};

struct gzip {
	sink_fn sink;
	void *ctx;
	int err; /* the first one; nothing is written after it */
	struct compressor *compressor, *threads;

	/* Round and round: block i % NR_BLOCKS. */
	struct block blocks[NR_BLOCKS];
	size_t nr_full;	   /* blocks so far: the next one is being filled */
	size_t nr_taken;   /* of them */
	size_t nr_written; /* of them */

	uint32_t crc;
	uint64_t nr_bytes;

	pthread_t thread;
	bool has_thread, ends;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

static struct block *block_at(struct gzip *gzip, size_t i)
{
	return &gzip->blocks[i % NR_BLOCKS];
}

struct gzip *gzip_new(sink_fn sink, void *ctx)
{
	struct gzip *gzip = xcalloc(1, sizeof(*gzip));

	gzip->sink = sink;
	gzip->ctx = ctx;
	gzip->compressor = xmalloc(sizeof(*gzip->compressor));
	gzip->blocks[0].in = xmalloc(BLOCK_BYTES);
	pthread_mutex_init(&gzip->lock, NULL);
	pthread_cond_init(&gzip->changed, NULL);
	return gzip;
}

static void gzip_free(struct gzip *gzip)
{
	pthread_cond_destroy(&gzip->changed);
	pthread_mutex_destroy(&gzip->lock);
	for (size_t i = 0; i < NR_BLOCKS; i++) {
		free(gzip->blocks[i].in);
		free(gzip->blocks[i].out);
	}
	free(gzip->compressor);
	free(gzip->threads);
	free(gzip);
}

static void compress_block(struct compressor *compressor, struct block *block)
{
	struct isal_zstream *stream = &compressor->stream;

	if (!block->out)
		block->out = xmalloc(OUT_BYTES);
	isal_deflate_init(stream);
	stream->level = LEVEL;
	stream->level_buf = compressor->level_buffer;
	stream->level_buf_size = sizeof(compressor->level_buffer);
	stream->next_in = block->in;
	stream->avail_in = block->nr_in;
	stream->next_out = block->out;
	stream->avail_out = OUT_BYTES;
	stream->end_of_stream = block->is_last;
	stream->flush = block->is_last ? NO_FLUSH : FULL_FLUSH;
	block->err = isal_deflate(stream) != COMP_OK || stream->avail_in || !stream->avail_out
			     ? -EIO
			     : 0;
	block->nr_out = OUT_BYTES - stream->avail_out;
	block->crc = crc32_gzip_refl(0, block->in, block->nr_in);
}

/* Takes up the first full block that nobody has. Locked, but not while it works. */
static void work_on_next(struct gzip *gzip, struct compressor *compressor)
{
	struct block *block = block_at(gzip, gzip->nr_taken++);

	block->state = BLOCK_TAKEN;
	pthread_mutex_unlock(&gzip->lock);
	compress_block(compressor, block);
	pthread_mutex_lock(&gzip->lock);
	block->state = BLOCK_DONE;
	pthread_cond_signal(&gzip->changed);
}

static void *work(void *ctx)
{
	struct gzip *gzip = ctx;

	pthread_mutex_lock(&gzip->lock);
	while (!gzip->ends) {
		if (gzip->nr_taken < gzip->nr_full)
			work_on_next(gzip, gzip->threads);
		else
			pthread_cond_wait(&gzip->changed, &gzip->lock);
	}
	pthread_mutex_unlock(&gzip->lock);
	return NULL;
}

static void write_out(struct gzip *gzip, const void *bytes, size_t len)
{
	if (!gzip->err && len)
		gzip->err = gzip->sink(gzip->ctx, bytes, len);
}

static void write_block(struct gzip *gzip, struct block *block)
{
	if (!gzip->nr_written)
		write_out(gzip, head, sizeof(head));
	if (!gzip->err)
		gzip->err = block->err;
	write_out(gzip, block->out, block->nr_out);
	gzip->crc = crc32_combine(gzip->crc, block->crc, block->nr_in);
	gzip->nr_bytes += block->nr_in;
}

/*
 * Writes what is done, helps with what is not, and waits, until no more than nr_left full blocks are
 * left. Locked, but not while it works.
 */
static void make_way(struct gzip *gzip, size_t nr_left)
{
	while (gzip->nr_full - gzip->nr_written > nr_left) {
		struct block *block = block_at(gzip, gzip->nr_written);

		if (block->state == BLOCK_DONE) {
			pthread_mutex_unlock(&gzip->lock);
			write_block(gzip, block);
			pthread_mutex_lock(&gzip->lock);
			block->state = BLOCK_FREE;
			gzip->nr_written++;
		} else if (gzip->nr_taken < gzip->nr_full) {
			work_on_next(gzip, gzip->compressor);
		} else {
			pthread_cond_wait(&gzip->changed, &gzip->lock);
		}
	}
}

/* The block is full, or the last one: nr_left full ones may wait. Of no use without a thread. */
static void pass_on(struct gzip *gzip, size_t nr_left)
{
	struct block *block = block_at(gzip, gzip->nr_full);

	pthread_mutex_lock(&gzip->lock);
	block->state = BLOCK_FULL;
	gzip->nr_full++;
	pthread_cond_signal(&gzip->changed);
	make_way(gzip, gzip->has_thread ? nr_left : 0);
	pthread_mutex_unlock(&gzip->lock);
}

static void start_thread(struct gzip *gzip)
{
	gzip->threads = xmalloc(sizeof(*gzip->threads));
	gzip->has_thread = !thread_start(&gzip->thread, work, gzip);
}

static void begin_block(struct gzip *gzip)
{
	struct block *block = block_at(gzip, gzip->nr_full);

	if (gzip->nr_full == NR_BLOCKS_ALONE)
		start_thread(gzip);
	if (!block->in)
		block->in = xmalloc(BLOCK_BYTES);
	block->nr_in = 0;
}

int gzip_write(void *ctx, const void *bytes, size_t len_bytes)
{
	struct gzip *gzip = ctx;
	const uint8_t *p = bytes;

	while (!gzip->err && len_bytes) {
		struct block *block = block_at(gzip, gzip->nr_full);
		size_t room = BLOCK_BYTES - block->nr_in;
		size_t len = len_bytes < room ? len_bytes : room;

		memcpy(block->in + block->nr_in, p, len);
		block->nr_in += len;
		p += len;
		len_bytes -= len;
		if (block->nr_in == BLOCK_BYTES) {
			pass_on(gzip, NR_BLOCKS - 1);
			begin_block(gzip);
		}
	}
	return gzip->err;
}

static void end_thread(struct gzip *gzip)
{
	if (!gzip->has_thread)
		return;
	pthread_mutex_lock(&gzip->lock);
	gzip->ends = true;
	pthread_cond_signal(&gzip->changed);
	pthread_mutex_unlock(&gzip->lock);
	pthread_join(gzip->thread, NULL);
}

int gzip_finish(struct gzip *gzip)
{
	uint32_t tail[2];
	int err;

	block_at(gzip, gzip->nr_full)->is_last = true;
	pass_on(gzip, 0);
	end_thread(gzip);
	tail[0] = htole32(gzip->crc);
	tail[1] = htole32((uint32_t)gzip->nr_bytes);
	write_out(gzip, tail, sizeof(tail));
	err = gzip->err;
	gzip_free(gzip);
	return err;
}
