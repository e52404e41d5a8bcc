/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates ranges of numbered places (words of slabs, entries of an array) that BPF programs read.
 *
 * A range that was freed may still be read by a program that is running, or used by a forked child that inherited it
 * from its parent a moment before. So it is quarantined for two grace periods, in which the child is announced and gets
 * a range of its own. Each rangealloc_settle() ends one grace period.
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
	uint32_t next;	   /* the first place that was never used */
	uint64_t nr_used;
	struct ranges free;
	struct ranges quarantine;  /* given back since the last rangealloc_settle() */
	struct ranges quarantined; /* given back before it */
};

/* The first of nr consecutive places, in *at (nr > 0, at most boundary). -ENOSPC. */
int rangealloc_take(struct rangealloc *alloc, uint32_t nr, uint32_t *at);
/* Puts the range into quarantine; nr 0 does nothing. It must be as it was taken. */
void rangealloc_free(struct rangealloc *alloc, uint32_t at, uint32_t nr);
/* Ends a grace period: no program that ran at the last call runs any more. */
void rangealloc_settle(struct rangealloc *alloc);
void rangealloc_release(struct rangealloc *alloc);

#endif
