// SPDX-License-Identifier: BSD-2-Clause
/*
 * A million samples of fifty frames are fifty million steps from a node to its child, so that step is one
 * inlined look-up (base/pairtable.h), and a node is no more than its pair while the tree grows.
 *
 * Arranging is three loops over arrays. A counting sort puts siblings side by side, as one family for each
 * parent; each family, most of which have one member, is sorted by itself; and a walk in preorder gives each
 * node its new position:
 *
 *	nodes as seen	0 root, 1 main, 2 f, 3 g, 4 (g below f)
 *	families	root: 1 | main: 2 3 | f: 4
 *	sorted		root: 1 | main: 3 2 | f: 4	g outweighs f
 *	order		0 1 3 2 4
 *
 * Alternatives rejected: lists of children, which need no table, but are searched from the start for every
 * frame of every sample: the square of their length where a dispatcher calls thousands of functions. And
 * sorting the samples by their stacks, so that each shares a prefix with the one before: it compares as many
 * frames, and wants all samples at once.
 */
#include "profile/prefixtree.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/model.h"

void prefixtree_init(struct prefixtree *tree, uint32_t nr_columns)
{
	*tree = (struct prefixtree){.nr_columns = nr_columns};
	prefixtree_add(tree, PREFIXTREE_NONE, PREFIXTREE_NONE);
}

void prefixtree_release(struct prefixtree *tree)
{
	pairtable_release(&tree->steps);
	vec_release(&tree->self);
	free(tree->depth);
	free(tree->end);
	tree->depth = tree->end = NULL;
}

uint32_t prefixtree_add(struct prefixtree *tree, uint32_t parent, uint32_t key)
{
	vec_reserve(&tree->self, tree->nr_columns);
	memset(tree->self.at + tree->self.nr, 0, tree->nr_columns * sizeof(*tree->self.at));
	tree->self.nr += tree->nr_columns;
	return pairtable_append(&tree->steps, parent, key);
}

int64_t *prefixtree_totals(const struct prefixtree *tree)
{
	size_t nr = tree->nr_columns;
	int64_t *totals = xreallocarray(NULL, prefixtree_nr(tree), nr * sizeof(*totals));

	memcpy(totals, tree->self.at, prefixtree_nr(tree) * nr * sizeof(*totals));
	for (size_t i = prefixtree_nr(tree); i-- > 1;) {
		int64_t *parent = totals + prefixtree_parent(tree, i) * nr;

		for (size_t column = 0; column < nr; column++)
			parent[column] = profile_sum(parent[column], totals[i * nr + column]);
	}
	return totals;
}

/* Order ------------------------------------------------------------------------------------------- */

struct sorting {
	const struct prefixtree *tree;
	const uint64_t *weights;
	const uint32_t *ranks;
};

static int compare_siblings(const void *a, const void *b, void *ctx)
{
	const struct sorting *sorting = ctx;
	uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;

	if (sorting->weights && sorting->weights[p] != sorting->weights[q])
		return sorting->weights[p] > sorting->weights[q] ? -1 : 1;
	p = sorting->ranks[prefixtree_key(sorting->tree, p)];
	q = sorting->ranks[prefixtree_key(sorting->tree, q)];
	return p < q ? -1 : p > q;
}

/* All nodes but the root, by parent; children of node i: sorted[i ? ends[i - 1] : 0] to sorted[ends[i]]. */
static void sort_families(const struct sorting *sorting, uint32_t *sorted, uint32_t *ends)
{
	const struct prefixtree *tree = sorting->tree;
	size_t nr = prefixtree_nr(tree);
	uint32_t first = 0;

	/* How many children; where they begin; and, as they are put there, where they end. */
	memset(ends, 0, nr * sizeof(*ends));
	for (size_t i = 1; i < nr; i++)
		ends[prefixtree_parent(tree, i)]++;
	for (size_t i = 0; i < nr; i++) {
		uint32_t nr_children = ends[i];

		ends[i] = first;
		first += nr_children;
	}
	for (size_t i = 1; i < nr; i++)
		sorted[ends[prefixtree_parent(tree, i)]++] = i;
	first = 0;
	for (size_t i = 0; i < nr; i++) {
		if (ends[i] - first > 1)
			qsort_r(sorted + first, ends[i] - first, sizeof(*sorted), compare_siblings,
				(void *)sorting);
		first = ends[i];
	}
}

/* order[i]: which node shall be the i-th. A node that is done goes on with its parent's next child. */
static void preorder(const struct prefixtree *tree, const uint32_t *sorted, const uint32_t *ends,
		     uint32_t *order)
{
	size_t nr = prefixtree_nr(tree), nr_out = 0;
	uint32_t *next scoped(freep) = xreallocarray(NULL, nr, sizeof(*next));

	next[0] = 0;
	memcpy(next + 1, ends, (nr - 1) * sizeof(*next));
	for (uint32_t node = PREFIXTREE_ROOT; node != PREFIXTREE_NONE;) {
		if (next[node] == (node ? ends[node - 1] : 0)) /* its first visit */
			order[nr_out++] = node;
		node = next[node] < ends[node] ? sorted[next[node]++]
					       : prefixtree_parent(tree, node);
	}
}

/* In preorder a node's end is that of its last child. */
static void measure(struct prefixtree *tree)
{
	size_t nr = prefixtree_nr(tree);

	tree->depth = xreallocarray(NULL, nr, sizeof(*tree->depth));
	tree->end = xreallocarray(NULL, nr, sizeof(*tree->end));
	tree->depth[0] = 0;
	for (size_t i = 0; i < nr; i++) {
		tree->end[i] = i + 1;
		if (i)
			tree->depth[i] = tree->depth[prefixtree_parent(tree, i)] + 1;
	}
	for (size_t i = nr; i-- > 1;) {
		uint32_t parent = prefixtree_parent(tree, i);

		if (tree->end[parent] < tree->end[i])
			tree->end[parent] = tree->end[i];
	}
}

static void renumber(struct prefixtree *tree, const uint32_t *order, uint32_t *moved)
{
	size_t nr = prefixtree_nr(tree), row_bytes = tree->nr_columns * sizeof(*tree->self.at);
	struct pair *steps = xreallocarray(NULL, nr, sizeof(*steps));
	int64_t *self;

	for (size_t i = 0; i < nr; i++)
		moved[order[i]] = i;
	for (size_t i = 0; i < nr; i++) {
		steps[i] = tree->steps.at[order[i]];
		if (i)
			steps[i].first = moved[steps[i].first];
	}
	free(tree->steps.at);
	tree->steps.at = steps;
	tree->steps.cap = nr;
	self = xreallocarray(NULL, nr, row_bytes);
	for (size_t i = 0; i < nr; i++)
		memcpy(self + i * tree->nr_columns, prefixtree_self(tree, order[i]), row_bytes);
	free(tree->self.at);
	tree->self.at = self;
	tree->self.cap = tree->self.nr;
}

void prefixtree_arrange(struct prefixtree *tree, const uint64_t *weights, const uint32_t *ranks,
			uint32_t *moved)
{
	size_t nr = prefixtree_nr(tree), bytes = sizeof(uint32_t);
	uint32_t *sorted scoped(freep) = xreallocarray(NULL, nr, bytes);
	uint32_t *ends scoped(freep) = xreallocarray(NULL, nr, bytes);
	uint32_t *order scoped(freep) = xreallocarray(NULL, nr, bytes);

	pairtable_seal(&tree->steps);
	sort_families(&(struct sorting){tree, weights, ranks}, sorted, ends);
	preorder(tree, sorted, ends, order);
	renumber(tree, order, moved ? moved : sorted);
	measure(tree);
}
