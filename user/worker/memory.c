// SPDX-License-Identifier: BSD-2-Clause
/*
 * pread(2) reads one piece. What lies close together, as the headers of a code cache's blobs do, is read at once with
 * what is in between: to look up a page of another process takes longer than to copy all of it.
 *
 * Rejected: process_vm_readv(2), which takes many pieces, but asks for the right to trace the process, which the worker
 * does not have; and it waits for memory that a user-space handler provides (userfaultfd), where this fails.
 */
#include "worker/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define SPAN_BYTES (64u << 10)
#define GAP_BYTES  4096u /* two pieces further apart are read by themselves */

static bool read_at(int fd, uint64_t addr, void *to, size_t len_bytes)
{
	while (len_bytes) {
		ssize_t nr = pread(fd, to, len_bytes, (off_t)addr);

		if (nr <= 0)
			return false;
		to = (char *)to + nr;
		addr += nr;
		len_bytes -= nr;
	}
	return true;
}

/* How many of the first pieces lie so close together that they are one span, of *span_bytes. */
static size_t count_close(const struct memory_piece *pieces, size_t nr, size_t *span_bytes)
{
	size_t i = 1, end = pieces[0].len_bytes;

	for (; i < nr; i++) {
		uint64_t at = pieces[i].addr - pieces[0].addr;

		if (at < end || at - end > GAP_BYTES || at > SPAN_BYTES ||
		    pieces[i].len_bytes > SPAN_BYTES - at)
			break;
		end = at + pieces[i].len_bytes;
	}
	*span_bytes = end;
	return i;
}

static bool read_span(int fd, struct memory_piece *pieces, size_t nr, size_t span_bytes)
{
	uint8_t span[SPAN_BYTES];

	if (nr < 2 || span_bytes > sizeof(span) || !read_at(fd, pieces[0].addr, span, span_bytes))
		return false;
	for (size_t i = 0; i < nr; i++) {
		memcpy(pieces[i].to, span + (pieces[i].addr - pieces[0].addr), pieces[i].len_bytes);
		pieces[i].was_read = true;
	}
	return true;
}

size_t memory_read_pieces(int fd, struct memory_piece *pieces, size_t nr)
{
	size_t nr_failed = 0;

	for (size_t at = 0; at < nr;) {
		size_t span_bytes, some = count_close(pieces + at, nr - at, &span_bytes);

		if (!read_span(fd, pieces + at, some, span_bytes))
			for (size_t i = at; i < at + some; i++) {
				pieces[i].was_read = read_at(fd, pieces[i].addr, pieces[i].to,
							     pieces[i].len_bytes);
				nr_failed += !pieces[i].was_read;
			}
		at += some;
	}
	return nr_failed;
}
