// SPDX-License-Identifier: BSD-2-Clause
#include "input/gunzip.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "input/reader.h"

#define FIRST_BYTES	 (64 * 1024)
#define TAKEN_BYTES	 (1u << 30) /* zlib counts in unsigned int */
#define STRETCH_BYTES	 (1u << 20) /* inflated between two looks at the limits */
#define RATIO_FREE_BYTES (16u << 20)

struct inflater {
	z_stream zlib;
	const uint8_t *bytes;
	size_t len, at; /* at: what zlib has taken */
	const struct input_limits *limits;
	uint8_t *out;
	size_t cap, used;
};

bool gunzip_detect(const void *bytes, size_t len)
{
	return len >= 2 && !memcmp(bytes, "\x1f\x8b", 2);
}

/*
 * How much may have come out of what went in so far. Deflate reaches 1032:1, but no profile does: one
 * that is a few MB inflated is let through whatever it is, a larger one has to have something in it.
 */
static bool is_bomb(const struct inflater *inflater)
{
	return inflater->used > RATIO_FREE_BYTES &&
	       inflater->used / inflater->limits->max_ratio > inflater->at;
}

/*
 * The last four bytes of a member are its length (mod 2^32); not believed, but where it is plausible
 * nothing has to grow.
 */
static size_t first_size(const uint8_t *bytes, size_t len, const struct input_limits *limits)
{
	uint32_t said;

	if (len < 18)
		return FIRST_BYTES;
	memcpy(&said, bytes + len - sizeof(said), sizeof(said));
	if (said < FIRST_BYTES || said / 32 > len || said > limits->max_inflated_bytes)
		return FIRST_BYTES;
	return (size_t)said + 1;
}

static void grow(struct inflater *inflater)
{
	inflater->cap *= 2;
	inflater->out = xreallocarray(inflater->out, inflater->cap, 1);
}

/* One call of inflate(): its status, and both ends moved. */
static int step(struct inflater *inflater)
{
	size_t in = inflater->len - inflater->at, room;
	int status;

	if (inflater->used == inflater->cap)
		grow(inflater);
	room = inflater->cap - inflater->used;
	inflater->zlib.next_in = (Bytef *)inflater->bytes + inflater->at;
	inflater->zlib.avail_in = in < TAKEN_BYTES ? in : TAKEN_BYTES;
	inflater->zlib.next_out = inflater->out + inflater->used;
	inflater->zlib.avail_out = room < STRETCH_BYTES ? room : STRETCH_BYTES;
	status = inflate(&inflater->zlib, Z_NO_FLUSH);
	inflater->at = inflater->zlib.next_in - inflater->bytes;
	inflater->used = inflater->zlib.next_out - inflater->out;
	return status;
}

static int check_limits(const struct inflater *inflater, struct input_error *error)
{
	if (inflater->used > inflater->limits->max_inflated_bytes)
		return input_fail(error, -EFBIG, inflater->at,
				  "inflates to more than %zu MB: too large",
				  inflater->limits->max_inflated_bytes >> 20);
	if (is_bomb(inflater))
		return input_fail(error, -EFBIG, inflater->at,
				  "inflates to more than %u times its size: a gzip bomb?",
				  inflater->limits->max_ratio);
	return 0;
}

static int inflate_members(struct inflater *inflater, struct input_error *error)
{
	for (;;) {
		size_t at = inflater->at, used = inflater->used;
		int status = step(inflater);
		int err = check_limits(inflater, error);

		if (err)
			return err;
		if (status == Z_STREAM_END) {
			if (inflater->at == inflater->len)
				return 0;
			if (!gunzip_detect(inflater->bytes + inflater->at,
					   inflater->len - inflater->at))
				return input_fail(error, -EBADMSG, inflater->at,
						  "%zu bytes that are no gzip follow the gzip",
						  inflater->len - inflater->at);
			inflateReset(&inflater->zlib);
			continue;
		}
		if (status != Z_OK && status != Z_BUF_ERROR)
			return input_fail(error, -EBADMSG, inflater->at, "broken gzip: %s",
					  inflater->zlib.msg ? inflater->zlib.msg : zError(status));
		if (at == inflater->at && used == inflater->used && at == inflater->len)
			return input_fail(error, -EBADMSG, inflater->len, "the gzip is cut off");
	}
}

int gunzip(const void *bytes, size_t len, const struct input_limits *limits, uint8_t **inflated,
	   size_t *inflated_len, struct input_error *error)
{
	struct inflater inflater = {.bytes = bytes, .len = len, .limits = limits};
	uint8_t *out scoped(freep) = NULL;
	int err;

	if (inflateInit2(&inflater.zlib, 15 + 16) != Z_OK) /* any window, in a gzip wrapper */
		return input_fail(error, -EIO, INPUT_NO_OFFSET, "zlib does not start");
	inflater.cap = first_size(bytes, len, limits);
	inflater.out = xmalloc(inflater.cap);
	err = inflate_members(&inflater, error);
	inflateEnd(&inflater.zlib);
	out = inflater.out;
	if (err)
		return err;
	*inflated = out;
	*inflated_len = inflater.used;
	out = NULL;
	return 0;
}
