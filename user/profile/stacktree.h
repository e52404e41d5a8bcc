/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stacks of one profile as a prefix tree, at any granularity, for `cprof tree`, folded stacks and
 * stack tables. Every path from the root is one node, however many samples have it. (calltree.h is the
 * tree of flame graphs: it holds two profiles, and values of all sample types.)
 *
 *	struct frames frames;
 *	struct stacktree tree;
 *	frames_make(profile, FRAME_BY_FUNCTION, &frames);
 *	err = stacktree_make(profile, type, &frames, &tree);
 *	stacktree_sort(&tree, STACKTREE_BY_TOTAL);
 *	totals = prefixtree_totals(&tree.stacks);
 *	for (size_t i = 1; i < prefixtree_nr(&tree.stacks); i++)
 *		line(tree.stacks.depth[i], stacktree_frame(&tree, i)->name, totals[i]);
 *
 * profile/prefixtree.h says in which order nodes stand, before stacktree_sort() and after it. Node 0 is the
 * root, which is no frame. Sums that would overflow stick at the ends of int64_t. No I/O, no printing.
 */
#ifndef CPROF_PROFILE_STACKTREE_H
#define CPROF_PROFILE_STACKTREE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/frames.h"
#include "profile/prefixtree.h"

/*
 * Some 30 bytes each. In any profile there may be STACKTREE_FREE_NODES, beyond them two for each location that
 * its stacks name, and never more than STACKTREE_MAX_NODES.
 */
#define STACKTREE_FREE_NODES (1u << 24)
#define STACKTREE_MAX_NODES  (1u << 26)

struct stacktree {
	const struct frames *frames;
	struct prefixtree stacks; /* keys are positions in frames->at; one column */
	uint32_t *
		sample_node; /* where each sample of the profile ends; the root: no stack, or no value */
	int64_t unplaced; /* the sum of the samples without a stack */
};

/*
 * Makes the tree of one sample type (its position), of values in that type's unit. Samples whose value
 * is 0 make no nodes. Borrows frames until stacktree_release(). -E2BIG: too many nodes; nothing is held then.
 */
int stacktree_make(const struct profile *profile, uint32_t type, const struct frames *frames,
		   struct stacktree *tree);
void stacktree_release(struct stacktree *tree); /* more than once is fine */

/* The frame of a node that is not the root. */
static inline const struct frame *stacktree_frame(const struct stacktree *tree, size_t node)
{
	return &tree->frames->at[prefixtree_key(&tree->stacks, node)];
}

enum stacktree_order {
	STACKTREE_BY_TOTAL, /* siblings: largest magnitude first, then by name */
	STACKTREE_BY_NAME
};
/* Puts the nodes in preorder, siblings in this order. */
void stacktree_sort(struct stacktree *tree, enum stacktree_order order);

#endif
