// SPDX-License-Identifier: BSD-2-Clause
/*
 * An arena is a list of chunks of 64 KiB. A block is cut from the newest chunk by moving an offset, and a
 * block that does not fit starts a new chunk, so no block ever moves.
 *
 * Rejected: obstack, whose blocks are not zeroed; one malloc() for each string, which costs 16 bytes and a
 * free() for each of a million names.
 */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Large enough that a chunk is rarely half empty, small enough not to matter for a tiny profile. */
#define CHUNK_BYTES (64 * 1024)

struct arena_chunk {
	struct arena_chunk *next;
	size_t cap_bytes;
	_Alignas(16) char data[];
};

static void (*last_clean_up)(void);
static int own_process; /* that set it */

void alloc_clean_up_with(void (*clean_up)(void))
{
	own_process = getpid();
	last_clean_up = clean_up;
}

static void *or_die(void *p)
{
	if (!p) {
		if (last_clean_up && own_process == getpid())
			last_clean_up();
		fputs("cprof: out of memory\n", stderr);
		_exit(2);
	}
	return p;
}

void *xmalloc(size_t len_bytes)
{
	return or_die(malloc(len_bytes ? len_bytes : 1));
}

void *xcalloc(size_t nr, size_t size_bytes)
{
	return or_die(calloc(nr ? nr : 1, size_bytes ? size_bytes : 1));
}

void *xreallocarray(void *old, size_t nr, size_t size_bytes)
{
	return or_die(reallocarray(old, nr ? nr : 1, size_bytes ? size_bytes : 1));
}

void *xrealloc(void *old, size_t size_bytes)
{
	return xreallocarray(old, 1, size_bytes);
}

char *xstrdup(const char *s)
{
	return or_die(strdup(s));
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return or_die(s);
}

void freep(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

void closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

void fclosep(FILE **file)
{
	if (*file)
		fclose(*file);
}

void *arena_alloc(struct arena *arena, size_t len_bytes)
{
	struct arena_chunk *chunk = arena->chunks;
	size_t len = (len_bytes + 15) & ~(size_t)15;

	if (len < len_bytes)
		or_die(NULL);
	if (!chunk || chunk->cap_bytes - arena->used_bytes < len) {
		size_t cap = len > CHUNK_BYTES ? len : CHUNK_BYTES;

		chunk = xcalloc(1, sizeof(*chunk) + cap);
		chunk->cap_bytes = cap;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
		arena->used_bytes = 0;
	}
	arena->used_bytes += len;
	return chunk->data + arena->used_bytes - len;
}

char *arena_strndup(struct arena *arena, const char *bytes, size_t len_bytes)
{
	char *copy = arena_alloc(arena, len_bytes + 1);

	if (len_bytes) /* of no bytes, bytes may be NULL */
		memcpy(copy, bytes, len_bytes);
	return copy;
}

void arena_release(struct arena *arena)
{
	while (arena->chunks) {
		struct arena_chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
	arena->used_bytes = 0;
}
