/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which classes of a HotSpot VM stay: what is read of a method may be another's, where its class was unloaded after the
 * sample was taken.
 *
 * The VM counts the classes that it unloads, before it frees what they consist of. So a count that is still what it was at the
 * tick proves that every address means what it meant then. Private to hotspot*.c.
 */
#ifndef CPROF_RUNTIME_HOTSPOTUNLOAD_H
#define CPROF_RUNTIME_HOTSPOTUNLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/vmstructs.h"

/* The addresses of the counts, as far as they are known by now. */
struct jvm_counters unloads_find(const struct vmstructs *vm, const struct target_memory *memory);
/* What a count is, UNWIND_UNLOADS(). 0: at is, or it cannot be read. */
uint64_t unloads_read(const struct target_memory *memory, uint64_t at);
#define MAX_OWN_LOADERS 3

/* The VM's own class loaders, whose classes it never unloads. */
struct own_loaders {
	uint64_t data[MAX_OWN_LOADERS]; /* the address of their ClassLoaderData */
	size_t nr;
};

/* Finds those that there are by now. */
void unloads_find_own(const struct vmstructs *vm, const struct target_memory *memory,
		      struct own_loaders *own);
/* Is this class one of theirs? */
bool unloads_never(const struct vmstructs *vm, const struct target_memory *memory,
		   const struct own_loaders *own, uint64_t klass);

#endif
