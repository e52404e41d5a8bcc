/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of code, from each source that knows some: Go's own table, else DWARF.
 *
 * DWARF is kept of one object at a time: questions about a file come one after the other, and the sections of a large
 * program take hundreds of megabytes.
 */
#ifndef CPROF_WORKER_LINES_H
#define CPROF_WORKER_LINES_H

#include "object/dwarf.h"
#include "object/object.h"
#include "worker/names.h"

/* Zeroed: nothing is kept. */
struct lines {
	struct dwarf_source *dwarf; /* private, as all of it */
	struct object *object;	    /* that it is of */
	uint64_t used_ns;	    /* CPU time so far */
};

/* Gives names the frames of nr elf_addrs of the object, with the functions inlined there if inlines. */
void lines_find(struct lines *lines, struct object *object, const uint64_t *elf_addrs, size_t nr,
		bool inlines, struct names *names);
/* To call before the objects are freed. */
void lines_forget(struct lines *lines);

#endif
