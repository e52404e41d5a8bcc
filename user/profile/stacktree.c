// SPDX-License-Identifier: BSD-2-Clause
/*
 * A node is known by its parent and its frame, in one hash table that lives only while the tree is
 * made. Lists of children instead would need no table, but be searched from the start for every
 * frame of every sample: the square of their length where a dispatcher calls thousands of
 * functions.
 *
 * Nodes are appended, so that a parent has a smaller position than its children: totals are summed
 * in one loop from the last node to the first, without recursion.
 *
 * Sorting is two steps: a counting sort puts siblings side by side, then each group is sorted by
 * itself. Names are ranked once, so that a comparison of two nodes compares two numbers.
 */
#include "profile/stacktree.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/magnitude.h"

static bool same_node(const void *ctx, uint32_t value, const void *key)
{
	const struct stacktree *tree = ctx;
	const struct stacktree_node *a = &tree->at[value], *b = key;

	return a->parent == b->parent && a->frame == b->frame;
}

/* The node of this frame below parent, made if it is new. */
static uint32_t enter(struct stacktree *tree, struct hash *index, uint32_t parent, uint32_t frame)
{
	struct stacktree_node node = {.parent = parent,
				      .frame = frame,
				      .child = STACKTREE_NONE,
				      .sibling = STACKTREE_NONE};
	uint64_t code = hash_u64((uint64_t)parent << 32 | frame);
	uint32_t i = hash_find(index, code, same_node, tree, &node);

	if (i != HASH_NONE)
		return i;
	if (parent != STACKTREE_NONE)
		node.depth = tree->at[parent].depth + 1;
	hash_insert(index, code, tree->nr);
	vec_push(tree, node);
	return tree->nr - 1;
}

static uint32_t enter_stack(struct stacktree *tree, struct hash *index,
			    const struct profile_sample *sample)
{
	uint32_t node = STACKTREE_NONE;

	for (uint32_t i = sample->nr_locations; i-- > 0;) {
		uint32_t nr;
		const uint32_t *ids = frames_of(tree->frames, sample->locations[i], &nr);

		while (nr-- > 0)
			node = enter(tree, index, node, ids[nr]);
	}
	return node;
}

void stacktree_make(const struct profile *profile, uint32_t type, const struct frames *frames,
		    struct stacktree *tree)
{
	struct hash index = {0};

	*tree = (struct stacktree){.frames = frames, .root = STACKTREE_NONE};
	tree->sample_node = xcalloc(profile->samples.nr, sizeof(*tree->sample_node));
	for (size_t i = 0; i < profile->samples.nr; i++) {
		const struct profile_sample *sample = &profile->samples.at[i];
		int64_t value = sample->values[type];
		uint32_t node = value ? enter_stack(tree, &index, sample) : STACKTREE_NONE;

		tree->sample_node[i] = node;
		if (node == STACKTREE_NONE)
			tree->unplaced = profile_sum(tree->unplaced, value);
		else
			tree->at[node].self = profile_sum(tree->at[node].self, value);
	}
	for (size_t i = tree->nr; i-- > 0;) { /* children come after their parents */
		struct stacktree_node *node = &tree->at[i], *parent;

		node->total = profile_sum(node->total, node->self);
		if (node->parent == STACKTREE_NONE)
			continue;
		parent = &tree->at[node->parent];
		parent->total = profile_sum(parent->total, node->total);
	}
	hash_release(&index);
}

void stacktree_release(struct stacktree *tree)
{
	vec_release(tree);
	free(tree->sample_node);
}

static int compare_names(const void *a, const void *b, void *ctx)
{
	const struct frame *frames = ctx;

	return strcmp(frames[*(const uint32_t *)a].name, frames[*(const uint32_t *)b].name);
}

/* Of each frame, how many have a smaller name: names are compared once, not once a node. */
static uint32_t *rank_names(const struct frames *frames)
{
	uint32_t *order scoped(freep) = xcalloc(frames->nr, sizeof(*order));
	uint32_t *ranks = xcalloc(frames->nr, sizeof(*ranks));

	for (size_t i = 0; i < frames->nr; i++)
		order[i] = i;
	qsort_r(order, frames->nr, sizeof(*order), compare_names, frames->at);
	for (size_t i = 0; i < frames->nr; i++)
		ranks[order[i]] = i;
	return ranks;
}

struct sorting {
	const struct stacktree_node *nodes;
	const uint32_t *ranks;
	enum stacktree_order order;
};

static int compare_nodes(const void *a, const void *b, void *ctx)
{
	const struct sorting *sorting = ctx;
	const struct stacktree_node *p = &sorting->nodes[*(const uint32_t *)a];
	const struct stacktree_node *q = &sorting->nodes[*(const uint32_t *)b];
	uint32_t x = sorting->ranks[p->frame], y = sorting->ranks[q->frame];
	int order = 0;

	if (sorting->order == STACKTREE_BY_TOTAL)
		order = compare_magnitudes(p->total, q->total);
	return order ? order : x < y ? -1 : x > y;
}

/* The children of a node are a family, and the roots are one: the first. */
static size_t family_of(const struct stacktree_node *node)
{
	return node->parent == STACKTREE_NONE ? 0 : (size_t)node->parent + 1;
}

/* The first of a family is where its parent says, the next where the one before says. */
static void link_family(struct stacktree *tree, const uint32_t *family, size_t nr)
{
	uint32_t parent = tree->at[family[0]].parent;

	*(parent == STACKTREE_NONE ? &tree->root : &tree->at[parent].child) = family[0];
	for (size_t i = 0; i < nr; i++)
		tree->at[family[i]].sibling = i + 1 < nr ? family[i + 1] : STACKTREE_NONE;
}

/* Nodes by parent, by counting; then each family by itself, most of which have one member. */
void stacktree_sort(struct stacktree *tree, enum stacktree_order order)
{
	uint32_t *ranks scoped(freep) = rank_names(tree->frames);
	uint32_t *sorted scoped(freep) = xcalloc(tree->nr, sizeof(*sorted));
	size_t *ends scoped(freep) = xcalloc(tree->nr + 2, sizeof(*ends));
	struct sorting sorting = {tree->at, ranks, order};
	size_t nr;

	/* Of each family, first where it begins in sorted, and then where it ends. */
	for (size_t i = 0; i < tree->nr; i++)
		ends[family_of(&tree->at[i]) + 1]++;
	for (size_t i = 1; i < tree->nr + 2; i++)
		ends[i] += ends[i - 1];
	for (size_t i = 0; i < tree->nr; i++)
		sorted[ends[family_of(&tree->at[i])]++] = i;
	for (size_t first = 0; first < tree->nr; first += nr) {
		nr = ends[family_of(&tree->at[sorted[first]])] - first;
		if (nr > 1)
			qsort_r(&sorted[first], nr, sizeof(*sorted), compare_nodes, &sorting);
		link_family(tree, &sorted[first], nr);
	}
}

uint32_t stacktree_first(const struct stacktree *tree)
{
	return tree->root;
}

uint32_t stacktree_skip(const struct stacktree *tree, uint32_t node)
{
	while (node != STACKTREE_NONE && tree->at[node].sibling == STACKTREE_NONE)
		node = tree->at[node].parent;
	return node == STACKTREE_NONE ? node : tree->at[node].sibling;
}

uint32_t stacktree_next(const struct stacktree *tree, uint32_t node)
{
	return tree->at[node].child != STACKTREE_NONE ? tree->at[node].child
						      : stacktree_skip(tree, node);
}
