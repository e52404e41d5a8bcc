/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stacks of one or two profiles as a prefix tree, as a flame graph draws them: stacks share the
 * nodes of the callers that they have in common, from the root on, and each node is a box.
 *
 *	main 10                  samples:  main > parse > read   7
 *	  parse 9                          main > parse          2
 *	    read 7                         main                  1
 *
 *	struct calltree *tree = calltree_new(nr_columns, false);
 *	calltree_add(tree, profile, 0, CALLTREE_NONE);
 *	calltree_arrange(tree, 0, 1);
 *	totals = prefixtree_totals(&tree->stacks);
 *
 * To compare two profiles, add both to one tree, in columns of their own; set tree->frames.by_name
 * before the first is added. profile/callframe.h defines which frames are the same. A stack without
 * frames is "[no stack]".
 *
 * Nothing here recurses, however deep a stack is. No I/O, no printing.
 */
#ifndef CPROF_PROFILE_CALLTREE_H
#define CPROF_PROFILE_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "profile/callframe.h"
#include "profile/model.h"
#include "profile/prefixtree.h"

#define CALLTREE_NONE UINT32_MAX
/* What does not fit is a frame "[more stacks]" at the root. */
#define CALLTREE_MAX_NODES (1u << 24)

struct calltree {
	struct callframes frames;
	struct prefixtree stacks; /* the boxes; their keys are positions in frames */
	/* With keep_ends, set before the first is added: the node that each sample ends in, in the order
	 * they were added. */
	vec_of(uint32_t) ends;
	bool keep_ends;
	bool inverted; /* stacks begin with their leaf: a node's children are callers */
	bool full;     /* some stacks did not fit */
};

/* An empty tree: its root, and nr_columns (at least 1) values for each node. Never NULL. */
struct calltree *calltree_new(uint32_t nr_columns, bool inverted);
void calltree_free(struct calltree *tree); /* NULL is fine */

/*
 * Adds all samples: the value of type i to column + i. A negative one is added, as a positive
 * number, to negative_column + i instead, unless that is CALLTREE_NONE. Sums stick at the ends of
 * int64_t. Nothing of the profile is kept.
 */
void calltree_add(struct calltree *tree, const struct profile *profile, uint32_t column,
		  uint32_t negative_column);

/*
 * Puts the nodes in preorder (profile/prefixtree.h). Siblings: the largest total magnitude of all columns
 * [column, column + nr) first, then by name, then the frame that was seen first. After this nothing may be
 * added.
 */
void calltree_arrange(struct calltree *tree, uint32_t column, uint32_t nr);

/*
 * Keeps about max_nodes nodes: drops those below which is least, as a share of their column's total.
 * In their place the last node that stays has a child "[small stacks]", whose children are the frames
 * in which those stacks end: the values of functions by themselves stay exact. After the last
 * calltree_add(), before calltree_arrange(). Returns how many nodes were dropped; more than max_nodes are left
 * where very many stacks are small.
 */
size_t calltree_prune(struct calltree *tree, size_t max_nodes);

#endif
