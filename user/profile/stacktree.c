// SPDX-License-Identifier: BSD-2-Clause
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
	stacktree_sort(tree, STACKTREE_BY_NAME);
}

void stacktree_release(struct stacktree *tree)
{
	vec_release(tree);
	free(tree->sample_node);
}

struct sorting {
	const struct stacktree *tree;
	enum stacktree_order order;
};

static int compare_nodes(const void *a, const void *b, void *ctx)
{
	const struct sorting *sorting = ctx;
	const struct stacktree_node *p = &sorting->tree->at[*(const uint32_t *)a];
	const struct stacktree_node *q = &sorting->tree->at[*(const uint32_t *)b];
	const struct frame *frames = sorting->tree->frames->at;
	int order = 0;

	if (sorting->order == STACKTREE_BY_TOTAL)
		order = compare_magnitudes(p->total, q->total);
	return order ? order : strcmp(frames[p->frame].name, frames[q->frame].name);
}

/* All nodes in the order of siblings, then linked from the last to the first. */
void stacktree_sort(struct stacktree *tree, enum stacktree_order order)
{
	uint32_t *sorted scoped(freep) = xcalloc(tree->nr, sizeof(*sorted));
	struct sorting sorting = {tree, order};

	for (size_t i = 0; i < tree->nr; i++) {
		sorted[i] = i;
		tree->at[i].child = STACKTREE_NONE;
	}
	tree->root = STACKTREE_NONE;
	qsort_r(sorted, tree->nr, sizeof(*sorted), compare_nodes, &sorting);
	for (size_t i = tree->nr; i-- > 0;) {
		struct stacktree_node *node = &tree->at[sorted[i]];
		uint32_t *first = node->parent == STACKTREE_NONE ? &tree->root
								 : &tree->at[node->parent].child;

		node->sibling = *first;
		*first = sorted[i];
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
