/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heaps of one JVM's code cache, each with the unwind table that the worker made of it and that BPF has.
 */
#ifndef CPROF_FEED_JVMHEAPS_H
#define CPROF_FEED_JVMHEAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "feed/tablecache.h"
#include "sandbox/jvmreply.h"

/* What a heap's table is in the kernel. */
struct placed_heap {
	uint64_t start, limit, reserved;
	uint64_t generation;
	uint32_t id;		    /* TABLE_NO_CFI: no room for it */
	struct unwind_table *table; /* owned; NULL: none, or no room */
};

/* Zeroed: none. */
struct jvmheaps {
	vec_of(struct placed_heap) placed;
	vec_of(uint32_t) retired; /* tables that vmas may still refer to */
};

/* The heap is i of the last look; takes over its table. false: its table is the one that is placed, or not made yet. */
bool jvmheaps_place(struct jvmheaps *heaps, struct tablecache *tablecache, size_t i,
		    struct reply_heap *heap);
/* Writes the generations of the tables that are in the kernel. */
void jvmheaps_generations(const struct jvmheaps *heaps, uint64_t generations[MESSAGE_MAX_HEAPS]);
/* Tables that were replaced leave the kernel: no vma refers to them any more. */
void jvmheaps_settle(struct jvmheaps *heaps, struct tablecache *tablecache);
/* All leave the kernel. */
void jvmheaps_release(struct jvmheaps *heaps, struct tablecache *tablecache);

/* By the tables; false: they do not know ip. */
bool jvmheaps_find(const struct jvmheaps *heaps, uint64_t ip, struct unwind_rule *rule);
/* vma begins somewhere and is in no table so far: gets the table of the heap where it begins, and ends with it. */
void jvmheaps_describe(const struct jvmheaps *heaps, struct unwind_vma *vma);

#endif
