// SPDX-License-Identifier: BSD-2-Clause
/* Judged by zlib: one member that holds what went in, nothing behind it, and the same every time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "output/gzip.h"

#define BLOCK (256 * 1024) /* gzip.c's */

struct written {
	uint8_t *bytes;
	size_t nr, cap;
	size_t nr_calls, fails_at; /* the call that fails; 0: none */
};

static int take(void *ctx, const void *bytes, size_t len)
{
	struct written *written = ctx;

	if (++written->nr_calls == written->fails_at)
		return -ENOSPC;
	assert_true(!written->fails_at || written->nr_calls < written->fails_at);
	assert_true(written->nr + len <= written->cap);
	memcpy(written->bytes + written->nr, bytes, len);
	written->nr += len;
	return 0;
}

/* nr bytes in pieces of piece bytes. Its error. */
static int write_all(const uint8_t *bytes, size_t nr, size_t piece, struct written *written)
{
	struct gzip *gzip = gzip_new(take, written);
	int err = 0;

	for (size_t at = 0; !err && at < nr; at += piece)
		err = gzip_write(gzip, bytes + at, nr - at < piece ? nr - at : piece);
	return gzip_finish(gzip) ?: err;
}

static struct written make_room(size_t nr, size_t fails_at)
{
	size_t cap = nr + nr / 32 + 1024;

	return (struct written){xmalloc(cap), 0, cap, 0, fails_at};
}

static void judge(const uint8_t *bytes, size_t nr, const struct written *written)
{
	z_stream stream = {.next_in = written->bytes, .avail_in = written->nr};
	uint8_t *back = xmalloc(nr + 1);

	assert_int_equal(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
	stream.next_out = back;
	stream.avail_out = nr + 1;
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	assert_int_equal(stream.total_out, nr);
	assert_memory_equal(back, bytes, nr);
	inflateEnd(&stream);
	free(back);
}

/* Text-like, or noise. */
static uint8_t *make_bytes(size_t nr, bool noise)
{
	uint8_t *bytes = xmalloc(nr + 1);
	uint32_t state = 1;

	for (size_t i = 0; i < nr; i++) {
		state = state * 1664525 + 1013904223;
		bytes[i] = noise ? state >> 24 : (uint8_t) "cprof pprof "[(state >> 28) % 12];
	}
	return bytes;
}

static void test_sizes(void **state)
{
	static const size_t sizes[] = {0,
				       1,
				       1000,
				       BLOCK - 1,
				       BLOCK,
				       BLOCK + 1,
				       4 * BLOCK,
				       4 * BLOCK + 1,
				       5 * BLOCK - 1,
				       5 * BLOCK,
				       20 * BLOCK + 7};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t nr = sizes[i / 2];
		uint8_t *bytes = make_bytes(nr, i % 2);
		struct written first = make_room(nr, 0), second = make_room(nr, 0);

		assert_int_equal(write_all(bytes, nr, nr + 1, &first), 0);
		judge(bytes, nr, &first);
		assert_int_equal(write_all(bytes, nr, 1777, &second), 0);
		assert_int_equal(second.nr, first.nr);
		assert_memory_equal(second.bytes, first.bytes, first.nr);
		free(first.bytes);
		free(second.bytes);
		free(bytes);
	}
}

/* Whichever call it is: it is said, and nothing is written behind it (take() looks). */
static void test_sink_fails(void **state)
{
	const size_t nr = 9 * BLOCK + 5;
	uint8_t *bytes = make_bytes(nr, false);
	struct written whole = make_room(nr, 0);

	(void)state;
	assert_int_equal(write_all(bytes, nr, 10000, &whole), 0);
	for (size_t at = 1; at <= whole.nr_calls; at++) {
		struct written written = make_room(nr, at);

		assert_int_equal(write_all(bytes, nr, 10000, &written), -ENOSPC);
		assert_int_equal(written.nr_calls, at);
		free(written.bytes);
	}
	assert_true(whole.nr_calls >= 10);
	free(whole.bytes);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_sink_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
