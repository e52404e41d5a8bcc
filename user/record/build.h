/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One builder_build() under way: what build.c, which makes the profile, and build_stack.c, which makes
 * the stack of one sample after another, share. Private to these two.
 */
#ifndef CPROF_RECORD_BUILD_H
#define CPROF_RECORD_BUILD_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "record/builder_state.h"
#include "profile/prune.h"
#include "profile/scale.h"

/* A sample's estimates, before they are rounded: at the position of the sample. */
struct estimate {
	struct scale_sum alloc, inuse;
};

/* What of a user stack is an allocator's: so many frames at its leaf. */
struct cut {
	const struct image *image; /* in which its addresses were last looked at; NULL: in none */
	uint32_t nr;
};

struct build {
	struct builder *builder;
	struct symbolizer *symbolizer;
	const struct build_order *order;
	struct profile *profile;
	vec_of(uint32_t) locations;	   /* of the sample being made */
	uint32_t nr_cut;		   /* user frames at its leaf that are not among them */
	struct prune_rule *allocators;	   /* NULL: no frame is left out */
	vec_of(struct cut) cuts;	   /* by user stack */
	vec_of(uint8_t) is_allocators;	   /* by symbolize_user_name(): 0 is not known yet */
	struct hash record_index;	   /* of profile->records, by stack and size */
	vec_of(struct estimate) estimates; /* heap */
	struct built built;
};

void build_begin_stacks(struct build *build);
void build_end_stacks(struct build *build);

/*
 * Makes build->locations the stack of an entry: kernel, user, then a word on why that is not whole. Of a
 * heap profile the allocator's own frames are left out, unless the order says otherwise.
 */
void build_set_stack(struct build *build, struct entry *entry);

/*
 * Adds to the record of this stack and size in profile->records. What is one stack came as several where
 * the first walks of new code were finished in user space, each by itself.
 */
void build_add_record(struct build *build, const struct entry *entry, uint64_t nr_taken,
		      uint64_t nr_live);

#endif
