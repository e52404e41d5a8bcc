// SPDX-License-Identifier: BSD-2-Clause
/* Names are ranked once, so that a comparison of two nodes compares two numbers. */
#include "profile/stacktree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/magnitude.h"

static size_t max_nodes(const struct profile *profile)
{
	size_t max = 0;

	vec_for_each(&profile->samples, sample)
		max += 2 * (size_t)sample->nr_locations;
	if (max > STACKTREE_MAX_NODES)
		return STACKTREE_MAX_NODES;
	return max > STACKTREE_FREE_NODES ? max : STACKTREE_FREE_NODES;
}

/* The node of a stack; PREFIXTREE_NONE: the tree is full. */
static uint32_t enter_stack(struct stacktree *tree, const struct profile_sample *sample, size_t max)
{
	uint32_t node = PREFIXTREE_ROOT;

	for (uint32_t i = sample->nr_locations; i-- > 0;) {
		uint32_t nr;
		const uint32_t *ids = frames_of(tree->frames, sample->locations[i], &nr);

		while (nr-- > 0) {
			if (prefixtree_nr(&tree->stacks) >= max)
				return PREFIXTREE_NONE;
			node = prefixtree_child(&tree->stacks, node, ids[nr]);
		}
	}
	return node;
}

int stacktree_make(const struct profile *profile, uint32_t type, const struct frames *frames,
		   struct stacktree *tree)
{
	size_t max = max_nodes(profile);

	*tree = (struct stacktree){.frames = frames};
	prefixtree_init(&tree->stacks, 1);
	tree->sample_node = xcalloc(profile->samples.nr, sizeof(*tree->sample_node));
	for (size_t i = 0; i < profile->samples.nr; i++) {
		const struct profile_sample *sample = &profile->samples.at[i];
		int64_t value = sample->values[type], *sum = &tree->unplaced;
		uint32_t node = value ? enter_stack(tree, sample, max) : PREFIXTREE_ROOT;

		if (node == PREFIXTREE_NONE) {
			stacktree_release(tree);
			return -E2BIG;
		}
		tree->sample_node[i] = node;
		if (node != PREFIXTREE_ROOT)
			sum = prefixtree_self(&tree->stacks, node);
		*sum = profile_sum(*sum, value);
	}
	return 0;
}

void stacktree_release(struct stacktree *tree)
{
	prefixtree_release(&tree->stacks);
	free(tree->sample_node);
	tree->sample_node = NULL;
}

static int compare_names(const void *a, const void *b, void *ctx)
{
	const struct frame *frames = ctx;

	return strcmp(frames[*(const uint32_t *)a].name, frames[*(const uint32_t *)b].name);
}

/* The rank of each frame by name, so that names are compared once, not once for each node. */
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

void stacktree_sort(struct stacktree *tree, enum stacktree_order order)
{
	size_t nr = prefixtree_nr(&tree->stacks);
	uint32_t *ranks scoped(freep) = rank_names(tree->frames);
	uint32_t *moved scoped(freep) = xreallocarray(NULL, nr, sizeof(*moved));
	uint64_t *weights scoped(freep) = NULL;

	if (order == STACKTREE_BY_TOTAL) {
		int64_t *totals scoped(freep) = prefixtree_totals(&tree->stacks);

		weights = xreallocarray(NULL, nr, sizeof(*weights));
		for (size_t i = 0; i < nr; i++)
			weights[i] = magnitude_of(totals[i]);
	}
	prefixtree_arrange(&tree->stacks, weights, ranks, moved);
	for (size_t i = 0; i < tree->frames->profile->samples.nr; i++)
		tree->sample_node[i] = moved[tree->sample_node[i]];
}
