/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JIT symbols: the names of code that one process generated at run time.
 *
 * An address may have belonged to one function and later to another, so a look-up says at which time.
 */
#ifndef CPROF_PROCESS_JITSYMS_H
#define CPROF_PROCESS_JITSYMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/vec.h"

#define JITSYMS_MAX (1u << 20) /* pieces of code; further ones have no name */

struct jitsym {
	uint64_t start, limit; /* ips */
	uint64_t since_ns;     /* when it was first seen there */
	uint32_t name;	       /* id in names */
};

/* Zeroed: empty. */
struct jitsyms {
	vec_of(struct jitsym) pieces;
	struct strtab names;
	size_t nr_sorted; /* private */
};

/* From since_ns on, the code at [start, limit) has this name (copied), whatever name it had before. */
void jitsyms_add(struct jitsyms *code, uint64_t start, uint64_t limit, uint64_t since_ns,
		 const char *name);

/*
 * The name of the code that was at ip at time_ns; failing that, of the first that was there later. NULL:
 * unknown. Borrowed until jitsyms_release().
 */
const char *jitsyms_find(struct jitsyms *code, uint64_t ip, uint64_t time_ns);
void jitsyms_release(struct jitsyms *code);

#endif
