/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data that builder.c collects and build.c makes profiles of. Private to these two.
 *
 *	entries	 one for each record id: who, when, two stack ids, counts	about 120 bytes
 *	stacks	 each distinct list of ips once (the kernel or the user part of a stack)
 */
#ifndef CPROF_RECORD_BUILDER_STATE_H
#define CPROF_RECORD_BUILDER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "record/builder.h"

#define STACK_EMPTY 0u

struct stack {
	const uint64_t *ips; /* in the arena */
	uint32_t nr;
};

struct entry {
	uint64_t id, start_ns, time_ns, size_bytes;
	uint64_t nr_taken, nr_freed;
	uint64_t nr_marked[NR_MARKS]; /* of nr_taken: before the pieces that are under way */
	uint64_t nr_ended;	      /* of nr_taken: in the table of builder_ends() already */
	struct image *image;	      /* set by builder_resolve() */
	uint32_t tgid, tid;
	uint32_t comm; /* strtab id */
	enum stack_end end;
	uint32_t kernel_stack, user_stack;
	bool has_record;
};

/* What builder_resolve() finds out about one process. */
struct group {
	struct built_process built;
	uint32_t first, nr; /* in builder->order */
	struct image *last_image;
	uint64_t last_ns;
};

struct builder {
	struct builder_options options;
	struct tasks *tasks;
	vec_of(struct entry) entries;
	struct hash entry_index;
	vec_of(struct stack) stacks; /* at[STACK_EMPTY] has no ips */
	struct hash stack_index;
	struct arena arena;
	struct strtab strings;
	uint64_t nr_taken;
	struct strtab end_names;
	vec_of(struct built_end) ends; /* by the ids of end_names; 0: whole */

	bool is_resolved;			/* nothing came since builder_resolve() */
	vec_of(uint32_t) order;			/* entries with samples, process by process */
	vec_of(struct group) groups;		/* most samples first */
	vec_of(struct built_process) processes; /* the public part of groups */
};

/* Whether the entry can be in a profile; false: its samples are dropped (enum drop_reason). */
bool builder_is_whole(const struct builder *builder, const struct entry *entry);

/* Adds to the table of builder_ends(). why NULL: the stack is whole. */
void builder_count_end(struct builder *builder, const char *why, uint64_t nr);

/* Finds the process and image of every entry, and groups them by process, unless nothing came since the last call. */
void builder_resolve(struct builder *builder);

#endif
