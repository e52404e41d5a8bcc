/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stacks of one profile as a prefix tree, at any granularity, for `cprof tree`, folded stacks and
 * stack tables. Every path from a root is one node, however many samples have it. (calltree.h is the
 * tree of flame graphs: it holds two profiles, and values of all sample types.)
 *
 *	struct frames frames;
 *	struct stacktree tree;
 *	frames_make(profile, FRAME_BY_FUNCTION, &frames);
 *	stacktree_make(profile, type, &frames, &tree);
 *	stacktree_sort(&tree, STACKTREE_BY_TOTAL);
 *	for (uint32_t i = stacktree_first(&tree); i != STACKTREE_NONE; i = stacktree_next(&tree, i))
 *		line(tree.at[i].depth, frames.at[tree.at[i].frame].name, tree.at[i].total);
 *
 * A node comes after its parent in the array: loops need no recursion, and stacks may be as deep as
 * they like. Sums that would overflow stick at the end of int64_t. No I/O, no printing.
 */
#ifndef CPROF_PROFILE_STACKTREE_H
#define CPROF_PROFILE_STACKTREE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/frames.h"

#define STACKTREE_NONE UINT32_MAX

struct stacktree_node {
	uint32_t parent;	 /* STACKTREE_NONE: a root */
	uint32_t frame;		 /* position in frames->at */
	uint32_t depth;		 /* 0: a root */
	uint32_t child, sibling; /* the first, the next; STACKTREE_NONE: there is none */
	int64_t self, total;	 /* of samples that end here; of those and all below */
};

struct stacktree {
	const struct frames *frames;
	struct stacktree_node *at;
	size_t nr, cap;
	uint32_t root;	       /* the first one */
	uint32_t *sample_node; /* where each sample of the profile ends; STACKTREE_NONE: no stack */
	int64_t unplaced;      /* the sum of those */
};

/*
 * Makes the tree of one sample type (its position), of values in that type's unit. Samples whose value
 * is 0 make no nodes (their sample_node is STACKTREE_NONE). Borrows frames until stacktree_release().
 */
void stacktree_make(const struct profile *profile, uint32_t type, const struct frames *frames,
		    struct stacktree *tree);
void stacktree_release(struct stacktree *tree);

enum stacktree_order {
	STACKTREE_BY_TOTAL, /* siblings: largest magnitude first, then by name */
	STACKTREE_BY_NAME
};
/* Sorts siblings and sets root, child and sibling: until then the tree cannot be walked. */
void stacktree_sort(struct stacktree *tree, enum stacktree_order order);

/* A walk in preorder, parents before children, siblings in order; STACKTREE_NONE ends it. */
uint32_t stacktree_first(const struct stacktree *tree);
uint32_t stacktree_next(const struct stacktree *tree, uint32_t node);
/* The next that is not below node. */
uint32_t stacktree_skip(const struct stacktree *tree, uint32_t node);

#endif
