// SPDX-License-Identifier: BSD-2-Clause
/*
 * gunzip() beside zlib. The sanitizers do not see into ISA-L, which is assembler: so the bytes lie
 * right before a page that nobody may touch, and so does the room for what comes of them, in a second
 * call. What zlib inflates, gunzip() must, to the same bytes; what zlib refuses, gunzip() must refuse,
 * but for codes that are not complete, which ISA-L takes where the missing ones are not used.
 *
 * What does not begin as gzip does is raw deflate, which gets a head and a true end: behind a checksum
 * that is wrong nearly always, nothing would be found.
 */
#include <isa-l/igzip_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "base/alloc.h"
#include "input/gunzip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PAGE	   4096
#define MOST_BYTES (1u << 20)

static uint8_t *in_end, *out_end; /* untouchable from here on */
static uint8_t *made;
static const char *refusal; /* zlib's */

static uint8_t *make_guarded(void)
{
	size_t len = MOST_BYTES + PAGE;
	uint8_t *guarded =
		mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guarded == MAP_FAILED || mprotect(guarded + MOST_BYTES, PAGE, PROT_NONE))
		abort();
	return guarded + MOST_BYTES;
}

/* All the members, into made. False: broken, or more than MOST_BYTES. */
static bool zlib_inflate(const uint8_t *bytes, size_t len, int window, size_t *nr_made,
			 size_t *nr_taken)
{
	z_stream zlib = {.next_in = (Bytef *)bytes,
			 .avail_in = len,
			 .next_out = made,
			 .avail_out = MOST_BYTES};
	int status;

	if (inflateInit2(&zlib, window) != Z_OK)
		abort();
	for (;;) {
		status = inflate(&zlib, Z_FINISH);
		if (status != Z_STREAM_END || window < 0 ||
		    !gunzip_detect(zlib.next_in, zlib.avail_in))
			break;
		inflateReset(&zlib);
	}
	refusal = zlib.msg ? zlib.msg : "";
	inflateEnd(&zlib);
	*nr_made = MOST_BYTES - zlib.avail_out;
	*nr_taken = len - zlib.avail_in;
	return status == Z_STREAM_END;
}

static bool is_about_codes(const char *why)
{
	return strstr(why, " set") || strstr(why, "symbols") || strstr(why, "end-of-block");
}

/* As gunzip() calls it, into so much room. */
static void inflate_into(const uint8_t *bytes, size_t len, size_t room)
{
	struct inflate_state *stream scoped(freep) = xmalloc(sizeof(*stream));

	isal_inflate_init(stream);
	stream->crc_flag = ISAL_GZIP;
	stream->next_in = (uint8_t *)bytes;
	stream->avail_in = len;
	stream->next_out = out_end - room;
	stream->avail_out = room;
	isal_inflate(stream);
}

static void judge(const uint8_t *bytes, size_t len)
{
	struct input_limits limits = {.max_inflated_bytes = MOST_BYTES, .max_ratio = 2000};
	uint8_t *inflated scoped(freep) = NULL;
	size_t inflated_len = 0, nr_made, nr_taken;
	struct input_error error;
	int err = gunzip(bytes, len, &limits, &inflated, &inflated_len, &error);
	bool good = zlib_inflate(bytes, len, 15 + 16, &nr_made, &nr_taken) && nr_taken == len;

	if (good && (err || inflated_len != nr_made || memcmp(inflated, made, nr_made))) {
		fprintf(stderr, "zlib inflates it; gunzip: %d %s\n", err, err ? error.message : "");
		abort();
	}
	if (!err && !good && !is_about_codes(refusal)) {
		fprintf(stderr, "taken, but zlib says: %s\n", refusal);
		abort();
	}
	inflate_into(bytes, len, nr_made);
	inflate_into(bytes, len, nr_made / 2);
}

static size_t wrap(const uint8_t *data, size_t size, uint8_t *to)
{
	static const uint8_t head[10] = {0x1f, 0x8b, 8};
	uint32_t end[2];
	size_t nr_made, nr_taken;

	if (!zlib_inflate(data, size, -15, &nr_made, &nr_taken))
		nr_taken = size;
	end[0] = crc32(0, made, nr_made);
	end[1] = nr_made;
	memcpy(to, head, sizeof(head));
	memcpy(to + sizeof(head), data, nr_taken);
	memcpy(to + sizeof(head) + nr_taken, end, sizeof(end));
	return sizeof(head) + nr_taken + sizeof(end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *wrapped scoped(freep) = NULL;

	if (!made) {
		made = xmalloc(MOST_BYTES);
		in_end = make_guarded();
		out_end = make_guarded();
	}
	if (size > MOST_BYTES / 2)
		return 0;
	if (!gunzip_detect(data, size)) {
		wrapped = xmalloc(size + 18);
		size = wrap(data, size, wrapped);
		data = wrapped;
	}
	memcpy(in_end - size, data, size);
	judge(in_end - size, size);
	return 0;
}
