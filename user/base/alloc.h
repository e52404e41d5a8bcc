/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocation that never fails, locals that free themselves, and arenas.
 *
 * cprof is a program, not a library: when memory runs out it prints one line and exits, and the kernel
 * detaches its probes with its descriptors. So no caller has a branch for a failed malloc.
 *
 * Memory has one of three lifetimes: the call (scoped locals), the profile (one arena), the session.
 */
#ifndef CPROF_BASE_ALLOC_H
#define CPROF_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

/*
 * Heap blocks, owned by the caller, released with free(). Never NULL; sizes of 0 are allowed. Where
 * nr * size_bytes overflows, that is out of memory. xcalloc()'s blocks are zeroed.
 */
#define never_null __attribute__((returns_nonnull))
never_null void *xmalloc(size_t len_bytes);
never_null void *xcalloc(size_t nr, size_t size_bytes);
never_null void *xreallocarray(void *old, size_t nr, size_t size_bytes);
never_null void *xrealloc(void *old,
			  size_t size_bytes); /* libiberty calls this one, too, and xmalloc() */
never_null char *xstrdup(const char *s);
never_null char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Called before this process ends for want of memory, but not in processes that it forks: clean_up allocates nothing. The last
 * one that was set counts.
 */
void alloc_clean_up_with(void (*clean_up)(void));

/*
 * `char *s scoped(freep) = xstrdup(x);` frees s when it goes out of scope, so that an early return
 * leaks nothing. To hand a scoped value on, assign it and set the local to NULL.
 */
#define scoped(release) __attribute__((cleanup(release)))
void freep(void *pointer_to_pointer); /* free() */
void closep(const int *fd);	      /* close(), unless negative */
struct _IO_FILE;
void fclosep(struct _IO_FILE **file); /* fclose(), unless NULL */

/*
 * An arena: many small blocks that are freed together. Blocks are 16-byte aligned and zeroed, and stay where
 * they are until arena_release(). A zeroed struct arena is an empty one.
 */
struct arena {
	struct arena_chunk *chunks; /* newest first; private */
	size_t used_bytes;	    /* in the newest chunk; private */
};

/* A zeroed block of len_bytes, never NULL. Borrowed until arena_release(). */
never_null void *arena_alloc(struct arena *arena, size_t len_bytes);
/* A copy of the len_bytes bytes at bytes, NUL-terminated. Borrowed until arena_release(). */
never_null char *arena_strndup(struct arena *arena, const char *bytes, size_t len_bytes);
/* Frees every block; the arena is empty again. */
void arena_release(struct arena *arena);

#endif
