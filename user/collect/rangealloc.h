/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranges of numbered places (words of slabs, entries of an array) that BPF reads while they are in
 * use. A range that is given back may still be read by a program under way, and a forked child may
 * have taken it over from its parent just before: so it is only handed out again after two grace
 * periods, in which the child has been announced and given its own. Each is one rangealloc_settle().
 */
#ifndef CPROF_COLLECT_RANGEALLOC_H
#define CPROF_COLLECT_RANGEALLOC_H

#include <stdint.h>

#include "base/vec.h"

struct range {
	uint32_t at, nr;
};

struct ranges {
	struct range *at;
	size_t nr, cap; /* as vec_of() */
};

struct rangealloc {
	uint32_t limit;	   /* places are 0 .. limit - 1 */
	uint32_t boundary; /* no range crosses a multiple of this; 0: any may */
	uint32_t next;	   /* never used from here on */
	uint64_t nr_used;
	struct ranges free;
	struct ranges quarantine;  /* given back since the last rangealloc_settle() */
	struct ranges quarantined; /* given back before it */
};

/* nr places in a row (nr > 0, at most boundary). -ENOSPC. */
int rangealloc_take(struct rangealloc *alloc, uint32_t nr, uint32_t *at);
void rangealloc_free(struct rangealloc *alloc, uint32_t at, uint32_t nr);
/* No program that ran at the last drain runs any more. */
void rangealloc_settle(struct rangealloc *alloc);
void rangealloc_release(struct rangealloc *alloc);

#endif
