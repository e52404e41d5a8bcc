/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the allocator functions of an object, and where in each of them a probe is cheapest.
 *
 * A file that samples by itself and says so in notes (probes/usdt.h) has the sites of these instead. Else
 * the names are the C library's, wherever they are defined: libc, a jemalloc, tcmalloc or mimalloc that overrides it, or
 * an allocator that is linked statically.
 */
#ifndef CPROF_PROBES_ALLOCATOR_H
#define CPROF_PROBES_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocsite.h"
#include "object/object.h"

struct allocator {
	bool is_go;	  /* a Go program, whose runtime has a heap of its own */
	bool is_nameless; /* a static program without symbols: nothing tells where its functions are */
	struct alloc_site sites[ALLOC_MAX_SITES];
	/* for messages, by site: the function's name, and the site's distance from its entry, in bytes */
	const char *names[ALLOC_MAX_SITES];
	uint32_t offsets[ALLOC_MAX_SITES];
	size_t nr;
};

/*
 * The sites in object, which was read from the file behind fd; one for each address (free and cfree are often one
 * function). None (nr 0) if the object does not define both malloc and free. Names are static; nothing to release.
 */
void allocator_find(struct object *object, int fd, struct allocator *allocator);

#endif
