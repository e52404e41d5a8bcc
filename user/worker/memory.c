// SPDX-License-Identifier: BSD-2-Clause
/*
 * pread(2) reads one piece. What lies close together, as the headers of a code cache's blobs and the VM's variables do, is
 * read at once with what is in between: to look up a page of another process takes longer than to copy all of it.
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
#define GAP_BYTES  4096u /* what is further away than this is read by itself */

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

/* What some pieces span. */
struct span {
	uint64_t low, high;
};

/* Makes it span a further piece. false: that is too far away. */
static bool extend(struct span *span, const struct memory_piece *piece)
{
	uint64_t low = piece->addr, high;

	if (__builtin_add_overflow(low, piece->len_bytes, &high) ||
	    (low > span->high && low - span->high > GAP_BYTES) ||
	    (high < span->low && span->low - high > GAP_BYTES))
		return false;
	low = low < span->low ? low : span->low;
	high = high > span->high ? high : span->high;
	if (high - low > SPAN_BYTES)
		return false;
	*span = (struct span){low, high};
	return true;
}

/* How many of the first pieces lie so close together that they are read at once. At least 1. */
static size_t count_close(const struct memory_piece *pieces, size_t nr, struct span *span)
{
	size_t i = 1;

	*span = (struct span){pieces[0].addr, pieces[0].addr};
	if (!extend(span, &pieces[0]))
		return 1;
	while (i < nr && extend(span, &pieces[i]))
		i++;
	return i;
}

static bool read_span(int fd, struct memory_piece *pieces, size_t nr, const struct span *span)
{
	uint8_t bytes[SPAN_BYTES];

	if (nr < 2 || !read_at(fd, span->low, bytes, span->high - span->low))
		return false;
	for (size_t i = 0; i < nr; i++) {
		memcpy(pieces[i].to, bytes + (pieces[i].addr - span->low), pieces[i].len_bytes);
		pieces[i].was_read = true;
	}
	return true;
}

size_t memory_read_pieces(int fd, struct memory_piece *pieces, size_t nr)
{
	size_t nr_failed = 0;

	for (size_t at = 0; at < nr;) {
		struct span span;
		size_t some = count_close(pieces + at, nr - at, &span);

		if (!read_span(fd, pieces + at, some, &span))
			for (size_t i = at; i < at + some; i++) {
				pieces[i].was_read = read_at(fd, pieces[i].addr, pieces[i].to,
							     pieces[i].len_bytes);
				nr_failed += !pieces[i].was_read;
			}
		at += some;
	}
	return nr_failed;
}
