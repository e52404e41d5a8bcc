/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recognises programs whose runtime keeps objects on a heap of its own, not on malloc's.
 *
 * Probing malloc shows only the runtime's internals there, or nothing. Such programs are known by a file that they map,
 * and each has tools of its own for its heap.
 */
#ifndef CPROF_HEAP_MANAGED_H
#define CPROF_HEAP_MANAGED_H

#include <stdbool.h>
#include <stddef.h>

struct managed {
	const char *file;    /* the beginning of the file's name; NULL: known by a section */
	const char *what;    /* "a Go program" */
	const char *objects; /* "its objects", or those that malloc does not have */
	const char *advice;  /* what to do instead: a sentence without its full stop */
	const char
		*setting; /* of the environment, with which malloc has them after all; NULL: none */
};

/* "none of its objects: use ...": what of the objects comes from malloc, and what to do. Returns out. */
char *managed_words(const struct managed *managed, char *out, size_t out_bytes);

/* The runtime that the file at path belongs to, which Go's linker made or not; NULL: none of these. Static. */
const struct managed *managed_of(bool is_go, const char *path);

#endif
