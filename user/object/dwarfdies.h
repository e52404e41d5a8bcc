/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions and inlined calls that addresses lie in: one pass over a unit's DIEs.
 */
#ifndef CPROF_OBJECT_DWARFDIES_H
#define CPROF_OBJECT_DWARFDIES_H

#include <stdint.h>

#include "object/dwarfunit.h"

/* A function's code, or an inlined call's. */
struct dwarffunction {
	uint64_t die;	    /* its offset in .debug_info */
	uint32_t caller;    /* of an inlined call: the function around it; else DWARF_NO_FUNCTION */
	uint32_t outermost; /* in the end */
	uint32_t call_file, call_line; /* of an inlined call */
};

typedef vec_of(struct dwarffunction) dwarffunction_vec;

/*
 * Sets function and function_width of the queries, positions in functions, which it empties first and fills with those that hold a
 * query. Where functions overlap, the one with the shortest range counts. It ends early where a DIE is damaged.
 */
void dwarfdies_find(const struct dwarfunit *unit, struct dwarfabbrev_cache *cache,
		    struct dwarfquery *queries, size_t nr, dwarffunction_vec *functions);

#endif
