/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Leads the calls of a process that was not started with this library here, and back: by the slots through which its files
 * call the allocator.
 *
 * Only slots that lead to the allocator of the whole process, or are not resolved yet, are changed, and only such that
 * hold what this library wrote are changed back. A file that is gone is left alone.
 */
#ifndef CPROF_INSIDE_REDIRECT_H
#define CPROF_INSIDE_REDIRECT_H

#include <stdint.h>

#define REDIRECT_NEEDLESS      (-1) /* this library was preloaded, and so is called anyway */
#define REDIRECT_OWN_ALLOCATOR (-2) /* the program has an allocator of its own */
#define REDIRECT_BUSY \
	(-3) /* another thread's call has not returned, or has faulted: nothing was done */

/* What slots held. */
struct saved_slot {
	void **slot;
	void *before;
};

struct redirect_result {
	int64_t nr;
	/* The slots that are redirected, which somebody may look at from outside: whether they still are. Else 0. */
	const struct saved_slot *slots;
	uint64_t nr_slots;
};

/*
 * rate_bytes > 0: samples at this rate, and redirects each slot that is not redirected yet, also of files that were
 * mapped since the last call. Files that another thread is relocating are left for the next one. 0: puts every slot back.
 * Sets result->nr, and returns it: how many slots are redirected now, or why none can be. From a thread that is neither in
 * the loader nor in the allocator.
 * It is this library's entry point, so that its address is easily found.
 */
int64_t heap_redirect(uint64_t rate_bytes, volatile struct redirect_result *result);

#endif
