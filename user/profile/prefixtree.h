/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A prefix tree of sequences of numbers: (parent, key) -> node, with values added up along the paths. The
 * keys are frames, and a sequence is a stack; stacktree.h and calltree.h say which frames are the same.
 *
 *	uint32_t node = PREFIXTREE_ROOT;
 *	for (each frame of a stack, from the root on)
 *		node = prefixtree_child(&tree, node, frame);
 *	prefixtree_self(&tree, node)[0] += value;
 *	...
 *	totals = prefixtree_totals(&tree);
 *	prefixtree_arrange(&tree, weights, ranks, NULL);
 *
 * Order: while the tree grows, nodes stand in the order in which they were first seen. After
 * prefixtree_arrange() they stand in preorder; of siblings the one with the larger weight is first, then the
 * one whose key has the smaller rank. Either way a parent stands before its children, so that every loop over
 * the nodes is a loop over an array: nothing recurses, however deep a stack is.
 *
 * Memory: 8 bytes for a node, 8 to 16 for its place in the index, 8 for each column. No I/O, no printing.
 */
#ifndef CPROF_PROFILE_PREFIXTREE_H
#define CPROF_PROFILE_PREFIXTREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/pairtable.h"
#include "base/vec.h"

#define PREFIXTREE_ROOT 0u	       /* the node of the empty sequence: always there */
#define PREFIXTREE_NONE PAIRTABLE_NONE /* the root's parent and its key */

struct prefixtree {
	struct pairtable steps; /* private: of each node its parent and its key */
	vec_of(int64_t) self;	/* nr_columns for each node: the sequences that end in it */
	uint32_t nr_columns;	/* at least 1 */
	/* After prefixtree_arrange(), else NULL: how many keys lead to each node, 0 for the root; and where
	 * the nodes below it end, which are those in (it, end). */
	uint32_t *depth, *end;
};

/* A tree with nothing but its root. Release with prefixtree_release(). */
void prefixtree_init(struct prefixtree *tree, uint32_t nr_columns);
void prefixtree_release(struct prefixtree *tree);

static inline size_t prefixtree_nr(const struct prefixtree *tree)
{
	return tree->steps.nr;
}

static inline uint32_t prefixtree_parent(const struct prefixtree *tree, size_t node)
{
	return tree->steps.at[node].first;
}

static inline uint32_t prefixtree_key(const struct prefixtree *tree, size_t node)
{
	return tree->steps.at[node].second;
}

/* The nr_columns values of a node. */
static inline int64_t *prefixtree_self(const struct prefixtree *tree, size_t node)
{
	return tree->self.at + node * tree->nr_columns;
}

/* Adds the node of a key below parent, where prefixtree_child() has none yet. */
uint32_t prefixtree_add(struct prefixtree *tree, uint32_t parent, uint32_t key);

/* The node of a key below parent, made if it is new. May move the nodes' values: take them afterwards. */
static inline uint32_t prefixtree_child(struct prefixtree *tree, uint32_t parent, uint32_t key)
{
	uint32_t node = pairtable_find(&tree->steps, parent, key);

	return node != PAIRTABLE_NONE ? node : prefixtree_add(tree, parent, key);
}

/*
 * What is in each node and below it: nr_columns values for each, summed as profile_sum() does. The caller
 * frees them.
 */
int64_t *prefixtree_totals(const struct prefixtree *tree);

/*
 * Puts the nodes in the order above, by the weight of each node (NULL: all the same) and the rank of each key
 * (no two the same), and sets depth and end. After it nothing may be added. moved, if not NULL, has room for
 * all nodes: it is set to the new position of each.
 */
void prefixtree_arrange(struct prefixtree *tree, const uint64_t *weights, const uint32_t *ranks,
			uint32_t *moved);

#endif
