/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables and names for the code that a running HotSpot JVM has generated.
 *
 * They are made from the VM's own structures (runtime/vmstructs.h) and the bytes of the code
 * (unwind/stackflow.h), in the form that tables of files have.
 *
 * The code cache is a few heaps, each a range of addresses whose code changes all the time. A look
 * notes what there is, and analyzes some of what is new; asking for a rule analyzes the code it is for.
 * What is not known, or not yet, is UNWIND_UNKNOWN.
 *
 * The target's memory is read while it runs and is not believed: what cannot be is left out.
 */
#ifndef CPROF_RUNTIME_HOTSPOT_H
#define CPROF_RUNTIME_HOTSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/hotspotname.h"
#include "unwind/tablebuild.h"
#include "runtime/vmstructs.h"

#define HOTSPOT_MAX_HEAPS 8

struct hotspot;

/* A part of the code cache. */
struct hotspot_heap {
	uint64_t start, limit;	    /* ips that the table describes; multiples of a page's size */
	uint64_t reserved;	    /* where it may grow to */
	struct unwind_table *table; /* its elf_addrs are ips; NULL: none */
	uint32_t generation;	    /* another one with each new table; 0: there was none yet */
};

struct hotspot_stats {
	size_t nr_blobs;
	size_t nr_analyzed; /* so far, repetitions included */
	size_t code_bytes;  /* of all */
};

/*
 * memory is borrowed. -EAGAIN: the VM is not yet that far; -ENOENT or -EBADMSG: it cannot be done with
 * this one, *missing (may be NULL) says what it lacks.
 */
int hotspot_open(const struct target_memory *memory, struct hotspot **vm, const char **missing);
void hotspot_free(struct hotspot *vm); /* NULL is fine */

/*
 * Looks at the code cache, and analyzes so many bytes of what is new. -EAGAIN: it is not there yet, or a
 * part could not be read and is as it was.
 */
int hotspot_look(struct hotspot *vm, size_t max_bytes);
/* Makes tables of heaps that changed, in place of those they had. Returns whether there were any. */
bool hotspot_pack(struct hotspot *vm);

/* The heaps, ascending, without overlaps. */
size_t hotspot_nr_heaps(const struct hotspot *vm);
const struct hotspot_heap *hotspot_heap(const struct hotspot *vm, size_t i);

/*
 * Is ip in the code cache? If so *rule is the one for it, UNWIND_UNKNOWN where nothing is known. May
 * read the target's memory.
 */
bool hotspot_find(struct hotspot *vm, uint64_t ip, struct unwind_rule *rule);

struct hotspot_name {
	uint64_t start, limit; /* ips it is for */
	char text[HOTSPOT_NAME_BYTES];
};

/*
 * The name of the code at ip, "java.lang.String.hashCode" or what the VM calls a piece of its own
 * ("Interpreter"). Each is given once: false if it was already, or is not known.
 */
bool hotspot_take_name(struct hotspot *vm, uint64_t ip, struct hotspot_name *name);

/* What is known so far, in *stats. */
void hotspot_stats(const struct hotspot *vm, struct hotspot_stats *stats);

#endif
