// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frames are looked up once for each location of a profile (profile/callframe.h) and then known by
 * position, which is the key of a step in the prefix tree.
 */
#include "profile/calltree.h"

#include <stdlib.h>
#include <string.h>

#include "base/magnitude.h"

struct calltree *calltree_new(uint32_t nr_columns, bool inverted)
{
	struct calltree *tree = xcalloc(1, sizeof(*tree));

	prefixtree_init(&tree->stacks, nr_columns);
	tree->inverted = inverted;
	return tree;
}

void calltree_free(struct calltree *tree)
{
	if (!tree)
		return;
	callframes_release(&tree->frames);
	prefixtree_release(&tree->stacks);
	vec_release(&tree->ends);
	free(tree);
}

/* Samples ----------------------------------------------------------------------------------------- */

/* The node for stacks that exceed the limit of nodes. */
static uint32_t more_stacks(struct calltree *tree)
{
	tree->full = true;
	return prefixtree_child(&tree->stacks, PREFIXTREE_ROOT,
				callframes_note(&tree->frames, "[more stacks]"));
}

static uint32_t walk(struct calltree *tree, const struct callframe_places *places,
		     const struct profile_sample *sample)
{
	uint32_t nr = sample->nr_locations, node = PREFIXTREE_ROOT;

	if (!nr)
		return prefixtree_child(&tree->stacks, PREFIXTREE_ROOT,
					callframes_note(&tree->frames, "[no stack]"));
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t id = sample->locations[tree->inverted ? i : nr - 1 - i];
		size_t start = places->starts.at[id - 1], end = places->starts.at[id];

		for (size_t j = 0; j < end - start; j++) {
			size_t at = tree->inverted ? start + j : end - 1 - j;

			if (prefixtree_nr(&tree->stacks) >= CALLTREE_MAX_NODES - 1)
				return more_stacks(tree);
			node = prefixtree_child(&tree->stacks, node, places->frames.at[at]);
		}
	}
	return node;
}

void calltree_add(struct calltree *tree, const struct profile *profile, uint32_t column,
		  uint32_t negative_column)
{
	struct callframe_places places scoped(callframe_places_release) = {0};

	callframes_add(&tree->frames, profile, &places);
	vec_for_each(&profile->samples, sample) {
		uint32_t node = walk(tree, &places, sample);
		int64_t *self = prefixtree_self(&tree->stacks, node);

		if (tree->keep_ends)
			vec_push(&tree->ends, node);
		for (uint32_t i = 0; i < profile->nr_types; i++) {
			int64_t value = sample->values[i], *sum = &self[column + i];

			if (value < 0 && negative_column != CALLTREE_NONE) {
				sum = &self[negative_column + i];
				value = value == INT64_MIN ? INT64_MAX : -value;
			}
			*sum = profile_sum(*sum, value);
		}
	}
}

/* Order ------------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b, void *ctx)
{
	const struct callframes *frames = ctx;
	uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
	int order = strcmp(strtab_get(&frames->strings, frames->at[p].name),
			   strtab_get(&frames->strings, frames->at[q].name));

	return order ? order : p < q ? -1 : p > q;
}

/* The rank of each frame by name; of one name, the frame that was seen first. */
static uint32_t *rank_frames(const struct callframes *frames)
{
	uint32_t *order scoped(freep) = xcalloc(frames->nr, sizeof(*order));
	uint32_t *ranks = xcalloc(frames->nr, sizeof(*ranks));

	for (size_t i = 0; i < frames->nr; i++)
		order[i] = i;
	qsort_r(order, frames->nr, sizeof(*order), compare_names, (void *)frames);
	for (size_t i = 0; i < frames->nr; i++)
		ranks[order[i]] = i;
	return ranks;
}

void calltree_arrange(struct calltree *tree, uint32_t column, uint32_t nr)
{
	size_t nr_nodes = prefixtree_nr(&tree->stacks), nr_columns = tree->stacks.nr_columns;
	int64_t *totals scoped(freep) = prefixtree_totals(&tree->stacks);
	uint64_t *weights scoped(freep) = xcalloc(nr_nodes, sizeof(*weights));
	uint32_t *ranks scoped(freep) = rank_frames(&tree->frames);
	uint32_t *moved scoped(freep) = xcalloc(nr_nodes, sizeof(*moved));

	for (size_t i = 0; i < nr_nodes; i++)
		for (uint32_t j = column; j < column + nr; j++)
			if (__builtin_add_overflow(weights[i],
						   magnitude_of(totals[i * nr_columns + j]),
						   &weights[i]))
				weights[i] = UINT64_MAX;
	prefixtree_arrange(&tree->stacks, weights, ranks, moved);
	vec_for_each(&tree->ends, end)
		*end = moved[*end];
}

/* Small stacks ------------------------------------------------------------------------------------ */

/* The largest share of any column that is in or below each node; a child's is at most its parent's. */
static double *shares_of(const struct calltree *tree)
{
	size_t nr = prefixtree_nr(&tree->stacks), nr_columns = tree->stacks.nr_columns;
	double *shares = xcalloc(nr, sizeof(*shares)), *sums scoped(freep) = NULL;

	sums = xcalloc(nr, sizeof(*sums));
	for (size_t column = 0; column < nr_columns; column++) {
		for (size_t i = 0; i < nr; i++)
			sums[i] = (double)magnitude_of(prefixtree_self(&tree->stacks, i)[column]);
		for (size_t i = nr; i-- > 1;)
			sums[prefixtree_parent(&tree->stacks, i)] += sums[i];
		for (size_t i = 0; sums[0] > 0 && i < nr; i++)
			if (sums[i] / sums[0] > shares[i])
				shares[i] = sums[i] / sums[0];
	}
	return shares;
}

static int compare_falling(const void *a, const void *b)
{
	double p = *(const double *)a, q = *(const double *)b;

	return p > q ? -1 : p < q;
}

/*
 * Nodes with more than `least` stay; equal ones are dropped together, or it would be chance which. Of the
 * dropped stacks the last frame stays nevertheless, so that the value of each function itself
 * remains right. end_of: where what ended in each node ends in `kept`.
 */
static void copy_large(struct prefixtree *kept, const struct prefixtree *tree, const double *shares,
		       double least, uint32_t small, uint32_t *end_of)
{
	size_t nr = prefixtree_nr(tree), nr_columns = tree->nr_columns;
	uint32_t *place_of scoped(freep) = xcalloc(nr, sizeof(*place_of));

	for (size_t i = 0; i < nr; i++) {
		uint32_t to = i ? place_of[prefixtree_parent(tree, i)] : PREFIXTREE_ROOT;
		uint32_t frame = prefixtree_key(tree, i);
		const int64_t *self = prefixtree_self(tree, i);
		bool is_small = i && !(shares[i] > least), ends_here = false;

		if (i && prefixtree_key(kept, to) != small)
			to = prefixtree_child(kept, to, is_small ? small : frame);
		place_of[i] = to;
		for (size_t column = 0; column < nr_columns; column++)
			ends_here |= self[column] != 0;
		if (is_small && ends_here)
			to = prefixtree_child(kept, to, frame);
		end_of[i] = to;
		for (size_t column = 0; column < nr_columns; column++) {
			int64_t *sum = &prefixtree_self(kept, to)[column];

			*sum = profile_sum(*sum, self[column]);
		}
	}
}

size_t calltree_prune(struct calltree *tree, size_t max_nodes)
{
	size_t nr = prefixtree_nr(&tree->stacks);
	double *shares scoped(freep) = NULL, *sorted scoped(freep) = NULL;
	uint32_t *end_of scoped(freep) = NULL;
	struct prefixtree kept;

	if (nr <= max_nodes || max_nodes < 2)
		return 0;
	shares = shares_of(tree);
	sorted = xreallocarray(NULL, nr, sizeof(*sorted));
	memcpy(sorted, shares, nr * sizeof(*sorted));
	qsort(sorted, nr, sizeof(*sorted), compare_falling);

	end_of = xcalloc(nr, sizeof(*end_of));
	prefixtree_init(&kept, tree->stacks.nr_columns);
	copy_large(&kept, &tree->stacks, shares, sorted[max_nodes],
		   callframes_note(&tree->frames, "[small stacks]"), end_of);
	vec_for_each(&tree->ends, end)
		*end = end_of[*end];
	prefixtree_release(&tree->stacks);
	tree->stacks = kept;
	return nr - prefixtree_nr(&tree->stacks);
}
