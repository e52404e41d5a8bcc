/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of code that a process made while it ran, as far as they came to be known. The same address
 * may have been one function's, then another's: a look-up says when.
 */
#ifndef CPROF_PROCESS_JITSYMS_H
#define CPROF_PROCESS_JITSYMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/vec.h"

#define MADECODE_MAX_PIECES (1u << 20) /* further ones stay without a name */

struct made_piece {
	uint64_t start, limit; /* ips */
	uint64_t since_ns;     /* when it was met */
	uint32_t name;
};

/* Zeroed: empty. */
struct jitsyms {
	vec_of(struct made_piece) pieces;
	struct strtab names;
	size_t nr_sorted; /* private */
};

/* From since_ns on, what is at [start, limit) is called name (copied), whatever it was before. */
void jitsyms_add(struct jitsyms *code, uint64_t start, uint64_t limit, uint64_t since_ns,
		 const char *name);

/*
 * The name of what ip was in at time_ns; failing that, of the first it was in later. NULL: not known.
 * Borrowed until jitsyms_release().
 */
const char *jitsyms_find(struct jitsyms *code, uint64_t ip, uint64_t time_ns);
void jitsyms_release(struct jitsyms *code);

#endif
