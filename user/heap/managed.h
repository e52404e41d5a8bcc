/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs whose objects live on a heap of their runtime's, which does not come from malloc: what there is
 * to be seen by probing malloc is the runtime's own affairs, or nothing. They are known by a file that they
 * map, and each has tools of its own that know better.
 */
#ifndef CPROF_HEAP_MANAGED_H
#define CPROF_HEAP_MANAGED_H

#include "object/object.h"

struct managed {
	const char *file;   /* the beginning of the file's name; NULL: known by a section */
	const char *what;   /* "a Go program" */
	const char *advice; /* what to do instead: a sentence without its full stop */
};

/* Whose file is this, which was found at path? NULL: nobody's. Static. */
const struct managed *managed_of(struct object *object, const char *path);

#endif
