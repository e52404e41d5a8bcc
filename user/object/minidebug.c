// SPDX-License-Identifier: BSD-2-Clause
/* The output grows with what comes out: the sizes that an xz file states about itself are not relied upon. */
#include "object/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"

#define FIRST_BYTES (256u << 10)

/* Makes room for more of the output. */
static int grow(lzma_stream *stream, uint8_t **out, size_t *cap)
{
	size_t used = stream->total_out;

	if (*cap >= MINIDEBUG_MAX_BYTES)
		return -EFBIG;
	*cap = *cap ? *cap * 2 : FIRST_BYTES;
	*out = xreallocarray(*out, *cap, 1);
	stream->next_out = *out + used;
	stream->avail_out = *cap - used;
	return 0;
}

static int decompress(lzma_stream *stream, uint8_t **out)
{
	lzma_ret ret = LZMA_OK;
	size_t cap = 0;
	int err = 0;

	while (!err && ret == LZMA_OK) {
		if (!stream->avail_out)
			err = grow(stream, out, &cap);
		if (!err)
			ret = lzma_code(stream, LZMA_FINISH);
	}
	if (err)
		return err;
	if (ret == LZMA_STREAM_END)
		return 0;
	return ret == LZMA_MEMLIMIT_ERROR ? -EFBIG : -EBADMSG;
}

int minidebug_read(const struct elf_file *file, void **image, size_t *len_bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	struct elf_section section;
	uint8_t *out = NULL;
	int err;

	if (!elf_file_section(file, ".gnu_debugdata", &section) || !section.bytes)
		return -ENOENT;
	if (lzma_stream_decoder(&stream, MINIDEBUG_MEMORY_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = section.bytes;
	stream.avail_in = section.len_bytes;
	err = decompress(&stream, &out);
	if (err) {
		free(out);
	} else {
		*image = out;
		*len_bytes = stream.total_out;
	}
	lzma_end(&stream);
	return err;
}
