/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of functions by their DIEs: a function's own, or that of what it is an instance or the definition of.
 */
#ifndef CPROF_OBJECT_DWARFNAMES_H
#define CPROF_OBJECT_DWARFNAMES_H

#include <stdint.h>

#include "object/dwarfunit.h"

struct dwarfname {
	const char *
		text; /* as a linker sees it if that is noted, else as in the source; NULL: unknown */
	uint32_t line; /* where it is declared; 0: unknown */
};

struct dwarfnames;

/* cache is borrowed; no table of it may be in use in a dwarfnames_get(). */
struct dwarfnames *dwarfnames_new(struct dwarfabbrev_cache *cache);
void dwarfnames_free(struct dwarfnames *names); /* NULL is fine */

/* The name of the function whose DIE is at off in file's .debug_info. The text is borrowed from the file. */
struct dwarfname dwarfnames_get(struct dwarfnames *names, const struct dwarffile *file,
				uint64_t off);

#endif
