/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of one builder_build(), shared by build.c (the profile), build_stack.c (the stack of one sample) and
 * build_frames.c (that of one with interpreted functions).
 *
 * Private to these three.
 */
#ifndef CPROF_RECORD_BUILD_H
#define CPROF_RECORD_BUILD_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "record/builder_state.h"
#include "profile/prune.h"
#include "record/join.h"
#include "profile/scale.h"

/* The estimates of the sample at the same index, before they are rounded. */
struct estimate {
	struct scale_sum alloc, inuse;
	int64_t score; /* VIEW_LEAKS */
};

/* The number of an allocator's frames at the leaf of a user stack. */
struct cut {
	const struct image *image; /* in which its addresses were last looked at; NULL: in none */
	uint32_t nr;
};

/* A rule for names, and its answers so far, by symbolize_user_name(). */
struct build_rule {
	struct prune_rule *rule; /* NULL: no frame is left out */
	vec_of(uint8_t) answers; /* 0 is not known yet */
};

struct build {
	struct builder *builder;
	struct symbolizer *symbolizer;
	const struct build_order *order;
	struct profile *profile;
	vec_of(uint32_t) locations; /* of the sample being made */
	vec_of(uint64_t) call_ips;  /* of each of them but a last note (struct profile_record) */
	uint32_t nr_cut;	    /* user frames at its leaf that are not among them */
	struct build_rule allocators, glue; /* whose frames are left out */
	vec_of(struct cut) cuts;	    /* by user stack */
	struct join_items items;	    /* of the stack that is being joined */
	vec_of(bool) is_loop;		    /* of its native frames */
	vec_of(bool) is_entered;	   /* of its loops, those that functions were called with */
	struct hash record_index;	   /* of profile->records, by stack and size */
	vec_of(struct estimate) estimates; /* heap */
	struct built built;
};

/* Called before the first build_set_stack() of a profile, and after the last. */
void build_begin_stacks(struct build *build);
void build_end_stacks(struct build *build);

/*
 * Sets build->locations and call_ips to the stack of an entry: kernel, user, then a note if the user stack is not complete. In a heap
 * profile the allocator's own frames are left out, unless the order has all_frames.
 */
void build_set_stack(struct build *build, struct entry *entry);

/* Does the rule drop functions of this name, which has that number? */
bool build_rule_drops(struct build_rule *rule, uint32_t name, const char *text);
void build_rule_release(struct build_rule *rule);

/* Does user->ips[i] stand for the frames that were left out? (A hostile stack holds any number.) */
bool build_is_elided(const struct stack *user, uint32_t i);
/* Adds frame i of an entry's user stack to build->locations and call_ips. */
void build_add_user(struct build *build, const struct entry *entry, const struct stack *user,
		    uint32_t i);

/* Called by build_begin_stacks() and build_end_stacks(): set up and release what build_add_joined() needs. */
void build_begin_frames(struct build *build);
void build_end_frames(struct build *build);
/*
 * Adds the user stack of an entry with interpreted functions to build->locations and call_ips: both stacks as one. The interpreter's own
 * frames are left out, unless the order has all_frames.
 */
void build_add_joined(struct build *build, struct entry *entry, const struct stack *user);

/*
 * Adds to the record of this stack and size in profile->records. Several entries can have one stack: the first walks of
 * new code are finished in user space, each as an entry of its own.
 */
void build_add_record(struct build *build, const struct entry *entry, uint64_t nr_taken,
		      uint64_t nr_live);

#endif
