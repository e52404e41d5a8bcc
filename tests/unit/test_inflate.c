// SPDX-License-Identifier: BSD-2-Clause
/* Sections that zlib and libzstd have compressed: whole, damaged, of another length, and when the time is up. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#if CPROF_HAS_ZSTD
#include <zstd.h>
#endif

#include "base/alloc.h"
#include "object/inflate.h"

#define MANY (5u << 20)

struct packed {
	uint8_t *bytes;
	size_t len_bytes;
};

static struct packed pack(enum inflate_method method, const void *from, size_t len_bytes)
{
	struct packed packed = {xmalloc(len_bytes + len_bytes / 64 + 4096),
				len_bytes + len_bytes / 64 + 4096};

	if (method == INFLATE_ZLIB) {
		assert_int_equal(compress2(packed.bytes, &packed.len_bytes, from, len_bytes, 6),
				 Z_OK);
		return packed;
	}
#if CPROF_HAS_ZSTD
	packed.len_bytes = ZSTD_compress(packed.bytes, packed.len_bytes, from, len_bytes, 3);
	assert_false(ZSTD_isError(packed.len_bytes));
#endif
	return packed;
}

/* Bytes that compress about as well as DWARF does. */
static uint8_t *some_bytes(size_t len_bytes)
{
	uint8_t *bytes = xmalloc(len_bytes);
	uint32_t random = 1;

	for (size_t i = 0; i < len_bytes; i++) {
		random = random * 1103515245 + 12345;
		bytes[i] = random & 0x10000 ? random >> 24 : i & 0x3f;
	}
	return bytes;
}

static void for_each_method(void (*test)(enum inflate_method))
{
	test(INFLATE_ZLIB);
	if (inflate_knows(INFLATE_ZSTD))
		test(INFLATE_ZSTD);
	else
		print_message("built without libzstd\n");
}

static void whole(enum inflate_method method)
{
	static const size_t sizes[] = {1, 100, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, MANY};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *from scoped(freep) = some_bytes(sizes[i]);
		uint8_t *out scoped(freep) = xcalloc(1, sizes[i] + 1);
		struct packed packed = pack(method, from, sizes[i]);

		assert_int_equal(
			inflate_all(method, packed.bytes, packed.len_bytes, out, sizes[i], NULL),
			0);
		assert_memory_equal(out, from, sizes[i]);
		assert_int_equal(inflate_all(method, packed.bytes, packed.len_bytes, out,
					     sizes[i] + 1, NULL),
				 -EBADMSG);
		assert_int_equal(inflate_all(method, packed.bytes, packed.len_bytes, out,
					     sizes[i] - 1, NULL),
				 -EBADMSG);
		free(packed.bytes);
	}
}

static void test_whole(void **state)
{
	(void)state;
	for_each_method(whole);
}

/* zlib has a checksum behind it; of zstd, which has none here, something may come out. */
static void damaged(enum inflate_method method)
{
	uint8_t *from scoped(freep) = some_bytes(20000);
	uint8_t *out scoped(freep) = xmalloc(20000);
	struct packed packed = pack(method, from, 20000);

	for (size_t cut = 0; cut < packed.len_bytes; cut += 1 + cut / 8)
		assert_int_equal(inflate_all(method, packed.bytes, cut, out, 20000, NULL),
				 -EBADMSG);
	for (size_t at = 0; at < packed.len_bytes; at += 1 + at / 64) {
		int err;

		packed.bytes[at] ^= 0x41;
		err = inflate_all(method, packed.bytes, packed.len_bytes, out, 20000, NULL);
		assert_true(err == -EBADMSG || (!err && method == INFLATE_ZSTD));
		packed.bytes[at] ^= 0x41;
	}
	free(packed.bytes);
}

static void test_damaged(void **state)
{
	(void)state;
	for_each_method(damaged);
}

static bool at_once(void)
{
	return true;
}

static void interrupted(enum inflate_method method)
{
	uint8_t *from scoped(freep) = some_bytes(MANY), *out scoped(freep) = xmalloc(MANY);
	struct packed packed = pack(method, from, MANY);
	struct workbudget budget = {0};

	workbudget_limit(&budget, 1000000000, at_once);
	assert_int_equal(inflate_all(method, packed.bytes, packed.len_bytes, out, MANY, &budget),
			 -ETIME);
	free(packed.bytes);
}

static void test_interrupted(void **state)
{
	(void)state;
	for_each_method(interrupted);
}

/* Empty blocks, five bytes each, are looked at in steps, too. */
static void test_long_and_empty(void **state)
{
	static const uint8_t empty[] = {0, 0, 0, 0xff, 0xff};
	size_t len_bytes = 2 + sizeof(empty) * 500000;
	uint8_t *from scoped(freep) = xmalloc(len_bytes), out[16];
	struct workbudget budget = {0};

	(void)state;
	memcpy(from, "\x78\x9c", 2);
	for (size_t at = 2; at < len_bytes; at += sizeof(empty))
		memcpy(from + at, empty, sizeof(empty));
	assert_int_equal(inflate_all(INFLATE_ZLIB, from, len_bytes, out, 16, NULL), -EBADMSG);
	workbudget_limit(&budget, 1000000000, at_once);
	assert_int_equal(inflate_all(INFLATE_ZLIB, from, len_bytes, out, 16, &budget), -ETIME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_long_and_empty),
	};

	return cmocka_run_group_tests_name("inflate", tests, NULL, NULL);
}
