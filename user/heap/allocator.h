/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions of an object allocate: the C library's names, wherever they are defined (libc, a
 * jemalloc, tcmalloc or mimalloc that overrides it, a statically linked or home-made one), and where
 * in each of them a probe is cheapest.
 */
#ifndef CPROF_HEAP_ALLOCATOR_H
#define CPROF_HEAP_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>

#include "collect/session.h"
#include "object/object.h"

struct allocator {
	struct session_site sites[SESSION_MAX_SITES];
	/* Of each site, for messages: the function's name, and the site's distance from its entry. */
	const char *names[SESSION_MAX_SITES];
	uint32_t offsets[SESSION_MAX_SITES];
	size_t nr;
};

/*
 * The sites in object, whose file fd is; one for each address (free and cfree are often one function).
 * None where the object is not an allocator, which takes both malloc and free.
 */
void allocator_find(struct object *object, int fd, struct allocator *allocator);
/* Leaves the frees out. */
void allocator_drop_frees(struct allocator *allocator);

#endif
