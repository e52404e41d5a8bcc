// SPDX-License-Identifier: BSD-2-Clause
/*
 * Gzip'ed profiles. What begins as gzip does is taken as it is. Anything else is gzip'ed first, as two
 * members that are split where the first byte says: it must read as what it is without gzip, so that
 * new profiles are found behind a checksum, too.
 */
#include <zlib.h>

#include "fuzz/reencode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void gzip(struct fuzz_bytes *to, const uint8_t *data, size_t size)
{
	z_stream zlib = {0};
	size_t room;

	if (deflateInit2(&zlib, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	room = deflateBound(&zlib, size) + 32;
	vec_reserve(&to->all, room);
	zlib.next_in = (Bytef *)data;
	zlib.avail_in = size;
	zlib.next_out = to->all.at + to->all.nr;
	zlib.avail_out = room;
	if (deflate(&zlib, Z_FINISH) != Z_STREAM_END)
		abort();
	to->all.nr = zlib.next_out - to->all.at;
	deflateEnd(&zlib);
}

static void compare(const uint8_t *data, size_t size, size_t split)
{
	struct fuzz_bytes zipped = {0};
	struct profile *plain = fuzz_parse(data, size), *inflated;

	gzip(&zipped, data, split);
	gzip(&zipped, data + split, size - split);
	inflated = fuzz_parse(zipped.all.at, zipped.all.nr);
	if (!plain != !inflated || (plain && profile_differs(plain, inflated)))
		fuzz_die("gzip", "makes a difference");
	profile_free(plain);
	profile_free(inflated);
	vec_release(&zipped.all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile;

	if (size >= 2 && data[0] == 0x1f && data[1] == 0x8b) {
		profile = fuzz_parse(data, size);
		if (profile)
			fuzz_reencode(profile);
		profile_free(profile);
	} else if (size > 1 && !(size > 2 && data[1] == 0x1f && data[2] == 0x8b)) {
		compare(data + 1, size - 1, data[0] % size);
	}
	return 0;
}
