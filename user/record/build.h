/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of one builder_build(), shared by build.c (the profile) and build_stack.c (the stack of one sample).
 *
 * Private to these two.
 */
#ifndef CPROF_RECORD_BUILD_H
#define CPROF_RECORD_BUILD_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "record/builder_state.h"
#include "profile/prune.h"
#include "profile/scale.h"

/* The estimates of the sample at the same index, before they are rounded. */
struct estimate {
	struct scale_sum alloc, inuse;
};

/* The number of an allocator's frames at the leaf of a user stack. */
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

/* Called before the first build_set_stack() of a profile, and after the last. */
void build_begin_stacks(struct build *build);
void build_end_stacks(struct build *build);

/*
 * Sets build->locations to the stack of an entry: kernel, user, then a note if the user stack is not complete. In a heap
 * profile the allocator's own frames are left out, unless the order has all_frames.
 */
void build_set_stack(struct build *build, struct entry *entry);

/*
 * Adds to the record of this stack and size in profile->records. Several entries can have one stack: the first walks of
 * new code are finished in user space, each as an entry of its own.
 */
void build_add_record(struct build *build, const struct entry *entry, uint64_t nr_taken,
		      uint64_t nr_live);

#endif
