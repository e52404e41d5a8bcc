// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is written is gathered in blocks. The first few are compressed on the spot, and with a small
 * profile that is all. Behind them comes a thread, which takes over the stream: while it compresses
 * one block, the other is filled.
 *
 *	gzip_write	fills blocks[0]  waits, hands over  fills blocks[1]  waits, hands over ...
 *	thread		                 compresses blocks[0], calls the sink    blocks[1] ...
 *
 * A block is either the writer's or, while it is `waiting`, the thread's, and stream, out and err are
 * the thread's as long as anything waits: so that the lock is held to hand over, never to work.
 */
#include "output/gzip.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"

#define LEVEL		3
#define BLOCK_BYTES	(256 * 1024)
#define NR_BLOCKS_ALONE 4 /* a thread costs as much as to compress some 10 KB */

struct gzip {
	sink_fn sink;
	void *ctx;
	int err; /* the first one; nothing is done after it */
	struct isal_zstream stream;
	uint8_t level_buffer[ISAL_DEF_LVL3_DEFAULT];
	uint8_t out[64 * 1024];

	uint8_t *blocks[2];
	unsigned int filling; /* which of them */
	size_t nr_filled;     /* bytes of it */
	size_t nr_full;	      /* blocks, so far */

	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const uint8_t *waiting; /* a full block; NULL: none */
	bool is_last;		/* no block comes any more */
};

struct gzip *gzip_new(sink_fn sink, void *ctx)
{
	struct gzip *gzip = xcalloc(1, sizeof(*gzip));

	gzip->sink = sink;
	gzip->ctx = ctx;
	isal_deflate_init(&gzip->stream);
	gzip->stream.gzip_flag = IGZIP_GZIP;
	gzip->stream.level = LEVEL;
	gzip->stream.level_buf = gzip->level_buffer;
	gzip->stream.level_buf_size = sizeof(gzip->level_buffer);
	gzip->blocks[0] = xmalloc(BLOCK_BYTES);
	pthread_mutex_init(&gzip->lock, NULL);
	pthread_cond_init(&gzip->changed, NULL);
	return gzip;
}

static void gzip_free(struct gzip *gzip)
{
	pthread_cond_destroy(&gzip->changed);
	pthread_mutex_destroy(&gzip->lock);
	free(gzip->blocks[0]);
	free(gzip->blocks[1]);
	free(gzip);
}

/* All of the bytes, unless there was an error before. */
static void compress(struct gzip *gzip, const uint8_t *bytes, size_t len)
{
	struct isal_zstream *stream = &gzip->stream;

	if (gzip->err)
		return;
	stream->next_in = (uint8_t *)bytes;
	stream->avail_in = len;
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

static void *compress_waiting(void *ctx)
{
	struct gzip *gzip = ctx;

	pthread_mutex_lock(&gzip->lock);
	for (;;) {
		while (!gzip->waiting && !gzip->is_last)
			pthread_cond_wait(&gzip->changed, &gzip->lock);
		if (!gzip->waiting)
			break;
		pthread_mutex_unlock(&gzip->lock);
		compress(gzip, gzip->waiting, BLOCK_BYTES);
		pthread_mutex_lock(&gzip->lock);
		gzip->waiting = NULL;
		pthread_cond_signal(&gzip->changed);
	}
	pthread_mutex_unlock(&gzip->lock);
	return NULL;
}

static bool start_thread(struct gzip *gzip)
{
	if (thread_start(&gzip->thread, compress_waiting, gzip))
		return false;
	gzip->blocks[1] = xmalloc(BLOCK_BYTES);
	return true;
}

/* Waits until the thread has nothing to do, and gives it this, or NULL for the end. */
static int hand_over(struct gzip *gzip, const uint8_t *block)
{
	int err;

	pthread_mutex_lock(&gzip->lock);
	while (gzip->waiting)
		pthread_cond_wait(&gzip->changed, &gzip->lock);
	err = gzip->err;
	gzip->waiting = block;
	gzip->is_last = !block;
	pthread_cond_signal(&gzip->changed);
	pthread_mutex_unlock(&gzip->lock);
	return err;
}

/* The block is full, the next one is to be filled. */
static int pass_on(struct gzip *gzip)
{
	const uint8_t *block = gzip->blocks[gzip->filling];

	gzip->nr_filled = 0;
	if (++gzip->nr_full == NR_BLOCKS_ALONE)
		gzip->has_thread = start_thread(gzip);
	if (gzip->has_thread) {
		gzip->filling = !gzip->filling;
		return hand_over(gzip, block);
	}
	compress(gzip, block, BLOCK_BYTES);
	return gzip->err;
}

int gzip_write(void *ctx, const void *bytes, size_t len_bytes)
{
	struct gzip *gzip = ctx;
	const uint8_t *p = bytes;
	int err = 0;

	while (!err && len_bytes) {
		size_t room = BLOCK_BYTES - gzip->nr_filled;
		size_t len = len_bytes < room ? len_bytes : room;

		memcpy(gzip->blocks[gzip->filling] + gzip->nr_filled, p, len);
		gzip->nr_filled += len;
		p += len;
		len_bytes -= len;
		if (gzip->nr_filled == BLOCK_BYTES)
			err = pass_on(gzip);
	}
	return err;
}

int gzip_finish(struct gzip *gzip)
{
	int err;

	if (gzip->has_thread) {
		hand_over(gzip, NULL);
		pthread_join(gzip->thread, NULL);
	}
	gzip->stream.end_of_stream = 1;
	compress(gzip, gzip->blocks[gzip->filling], gzip->nr_filled);
	err = gzip->err;
	gzip_free(gzip);
	return err;
}
