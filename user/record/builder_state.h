/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data that builder.c collects and build.c makes profiles of. Private to these, and to what finds out more of it in
 * between: whose samples they are (builder_resolve.c), what was in use at a peak (builder_peak.c), what leaks
 * (builder_leaks.c).
 *
 *	entries	 one for each record id: who, when, two stack ids, counts	about 120 bytes; more than one where the code
 *		 at its ips was exchanged meanwhile (builder_date.c)
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
#include "record/timeline.h"

#define STACK_EMPTY 0u

struct stack {
	const uint64_t *ips; /* in the arena */
	uint32_t nr;
};

struct entry {
	uint64_t id, start_ns, time_ns, size_bytes;
	uint64_t dated_ns; /* by then the code was known to be that of time_ns */
	uint64_t nr_taken, nr_freed;
	uint64_t nr_marked[NR_MARKS]; /* of nr_taken: before the pieces that are under way */
	uint64_t peak_ns, peak_live;  /* as in struct life, over all of the run */
	uint64_t oldest_freed_ns;     /* the greatest age at which a block was freed */
	uint64_t nr_leaked;	      /* in use, old, of a stack that is suspected */
	uint32_t leak;		      /* number in builder->leaks, from 1 on; 0: none */
	uint32_t timeline;	      /* the same in builder->timelines */
	uint32_t ages;		      /* the same in builder->ages */
	uint64_t nr_at_peak;	      /* in use then; set by builder_resolve() */
	uint64_t nr_ended;	      /* of nr_taken: in the table of builder_ends() already */
	struct image *image;	      /* set by builder_resolve() */
	uint32_t tgid, tid;
	uint32_t comm; /* strtab id */
	enum stack_end end;
	uint32_t kernel_stack, user_stack;
	uint32_t shadow;      /* in builder->shadows; 0: it has none */
	uint32_t shown_stack; /* of builder_number_stacks() */
	uint64_t nr_joined;   /* of nr_taken: in builder_joined() already */
	bool has_record;
};

/* The freed blocks of an entry, counted by age. */
struct entry_ages {
	uint64_t nr[LIFE_NR_AGES];
};

/* What builder_resolve() finds out about one process. */
struct group {
	struct built_process built;
	uint32_t first, nr; /* in builder->order */
	struct image *last_image;
	uint64_t last_ns;
	struct built_peak peak;
	uint64_t peak_bytes;
};

/* The peak of an image, as it was delivered last. */
struct known_peak {
	struct peak peak;
	bool is_over; /* its tgid is another process's now */
};

struct builder {
	struct builder_options options;
	struct tasks *tasks;
	vec_of(struct entry) entries;
	struct hash entry_index;
	vec_of(struct stack) stacks; /* at[STACK_EMPTY] has no ips */
	struct hash stack_index;
	vec_of(struct shadow_stack) shadows; /* at[0] is none; frames are in the arena */
	struct hash shadow_index;
	struct builder_joined joined;
	vec_of(struct known_peak) peaks;
	struct hash peak_index; /* by tgid and exec_id */
	vec_of(struct entry_ages) ages;
	uint64_t advanced_ns; /* builder_advance() */
	uint64_t counted_ns;  /* and before: what is counted now is later than that */
	struct timeline_clock clock;
	vec_of(struct timeline) timelines; /* of entries, if the clock runs */
	uint64_t leak_age_ns;
	uint64_t nr_unjudged; /* stacks of which too much has no timeline */
	uint64_t most_old;    /* sampled blocks of one stack that are old */
	uint64_t nr_tested;   /* stacks that there is enough of to judge them */
	vec_of(struct built_leak) leaks;
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

/* A comparison for qsort(): less than 0, 0, or greater than 0. */
static inline int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Whether the entry can be in a profile; false: its samples are dropped (enum drop_reason). */
bool builder_is_whole(const struct builder *builder, const struct entry *entry);

/*
 * Before an entry counts more: where its process has written JIT symbols since the entry's time, what was counted so far gets an
 * entry of its own, of that time, and this one goes on with those symbols.
 */
void builder_date(struct builder *builder, struct entry *entry);

/* How many blocks of an entry are in use, of those that builder_resolve() has seen. */
uint64_t builder_nr_live(const struct entry *entry);

/* Sets shown_stack of each entry: the same number where profiles of this order show the same stack. */
void builder_number_stacks(struct builder *builder, struct symbolizer *symbolizer,
			   const struct build_order *order);

/* Adds to the table of builder_ends(). why NULL: the stack is whole. */
void builder_count_end(struct builder *builder, const char *why, uint64_t nr);

/* Adds to builder_joined(): the entry's new samples, whose stacks were paired or not; a frame of it that has no name. */
void builder_count_joined(struct builder *builder, const struct entry *entry, bool is_paired);
void builder_count_gone(struct builder *builder, const struct entry *entry);

/* How many of an entry's blocks were freed at an age of this class. */
uint64_t builder_nr_by_age(const struct builder *builder, const struct entry *entry, int class);

/* Finds what each entry held at the peak of its process; a part of builder_resolve(), while groups are in the order of tgids. */
void builder_resolve_peaks(struct builder *builder);

/* Finds the process and image of every entry, and groups them by process, unless nothing came since the last call. */
void builder_resolve(struct builder *builder);

#endif
