/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions of an object allocate: the C library's names, wherever they are defined (libc, a
 * jemalloc, tcmalloc or mimalloc that overrides it, a statically linked or home-made one).
 */
#ifndef CPROF_ALLOCATOR_H
#define CPROF_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>

#include "collect/session.h"
#include "object/object.h"

#define ALLOCATOR_MAX_SITES 16

struct allocator_site {
	const char *name;
	enum session_shape shape;
	uint64_t file_off;
};

/*
 * The sites in object, one for each address (free and cfree are often one function), at most
 * ALLOCATOR_MAX_SITES; 0 where the object is not an allocator, which takes both malloc and free.
 */
size_t allocator_sites(struct object *object, struct allocator_site *sites);

#endif
