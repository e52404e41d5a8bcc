// SPDX-License-Identifier: BSD-2-Clause
/*
 * A million samples of fifty frames are fifty million steps from a node to its child, so that step is
 * what this file is about: one probe of an open-addressed table whose key is (parent, frame), no
 * function pointer, no allocation.
 *
 * Frames are looked up once for each location of a profile (profile/callframe.h) and then known by
 * position.
 *
 * Alternative rejected: sorting the samples by their stacks, so that each shares a prefix with the
 * one before and no table is needed. It compares as many frames, and wants all samples at once.
 */
#include "profile/calltree.h"

#include <stdlib.h>
#include <string.h>

struct calltree_index {
	uint32_t *slots; /* node + 1; 0: empty */
	size_t nr_slots; /* a power of two, at least twice the nodes */
	uint32_t more;	 /* the node "[more stacks]", once there is one */
};

/*
 * The high half of a product, where every bit of both is felt: of a recursion all frames are the same,
 * and only the parents differ. (The low bits of a product know nothing of the high bits of its factors.)
 */
static uint64_t node_code(uint32_t parent, uint32_t frame)
{
	uint64_t code = ((uint64_t)parent << 32 | frame) * 0x9e3779b97f4a7c15ull;

	return (code ^ code >> 32) * 0xd6e8feb86659fd93ull >> 32;
}

static void place(struct calltree *tree, uint32_t node)
{
	struct calltree_index *index = tree->index;
	size_t mask = index->nr_slots - 1;
	size_t slot = node_code(tree->nodes.at[node].parent, tree->nodes.at[node].frame) & mask;

	while (index->slots[slot])
		slot = (slot + 1) & mask;
	index->slots[slot] = node + 1;
}

static void grow_index(struct calltree *tree)
{
	struct calltree_index *index = tree->index;

	free(index->slots);
	index->nr_slots = index->nr_slots ? 2 * index->nr_slots : 1024;
	index->slots = xcalloc(index->nr_slots, sizeof(*index->slots));
	for (size_t i = 1; i < tree->nodes.nr; i++)
		place(tree, i);
}

static uint32_t add_node(struct calltree *tree, uint32_t parent, uint32_t frame)
{
	uint32_t depth = parent == CALLTREE_NONE ? 0 : tree->nodes.at[parent].depth + 1;

	vec_push(&tree->nodes,
		 (struct calltree_node){.parent = parent, .frame = frame, .depth = depth});
	vec_reserve(&tree->self, tree->nr_columns);
	memset(tree->self.at + tree->self.nr, 0, tree->nr_columns * sizeof(*tree->self.at));
	tree->self.nr += tree->nr_columns;
	return tree->nodes.nr - 1;
}

static uint32_t child_of(struct calltree *tree, uint32_t parent, uint32_t frame)
{
	struct calltree_index *index = tree->index;
	size_t mask = index->nr_slots - 1, slot = node_code(parent, frame) & mask;

	for (uint32_t at; (at = index->slots[slot]); slot = (slot + 1) & mask) {
		const struct calltree_node *node = &tree->nodes.at[at - 1];

		if (node->parent == parent && node->frame == frame)
			return at - 1;
	}
	add_node(tree, parent, frame);
	if (2 * tree->nodes.nr > index->nr_slots)
		grow_index(tree);
	else
		place(tree, tree->nodes.nr - 1);
	return tree->nodes.nr - 1;
}

struct calltree *calltree_new(uint32_t nr_columns, bool inverted)
{
	struct calltree *tree = xcalloc(1, sizeof(*tree));

	tree->index = xcalloc(1, sizeof(*tree->index));
	tree->nr_columns = nr_columns;
	tree->inverted = inverted;
	add_node(tree, CALLTREE_NONE, CALLTREE_NONE);
	grow_index(tree);
	return tree;
}

void calltree_free(struct calltree *tree)
{
	if (!tree)
		return;
	callframes_release(&tree->frames);
	vec_release(&tree->nodes);
	vec_release(&tree->self);
	vec_release(&tree->ends);
	free(tree->index->slots);
	free(tree->index);
	free(tree);
}

/* Samples ----------------------------------------------------------------------------------------- */

/* Where a stack goes that would be one node too many. */
static uint32_t more_stacks(struct calltree *tree)
{
	if (!tree->index->more)
		tree->index->more =
			child_of(tree, 0, callframes_note(&tree->frames, "[more stacks]"));
	tree->full = true;
	return tree->index->more;
}

static uint32_t walk(struct calltree *tree, const struct callframe_places *places,
		     const struct profile_sample *sample)
{
	uint32_t nr = sample->nr_locations, node = 0;

	if (!nr)
		return child_of(tree, 0, callframes_note(&tree->frames, "[no stack]"));
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t id = sample->locations[tree->inverted ? i : nr - 1 - i];
		size_t start = places->starts.at[id - 1], end = places->starts.at[id];

		for (size_t j = 0; j < end - start; j++) {
			size_t at = tree->inverted ? start + j : end - 1 - j;

			if (tree->nodes.nr >= CALLTREE_MAX_NODES - 1)
				return more_stacks(tree);
			node = child_of(tree, node, places->frames.at[at]);
		}
	}
	return node;
}

static void add_to(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

void calltree_add(struct calltree *tree, const struct profile *profile, uint32_t column,
		  uint32_t negative_column)
{
	struct callframe_places places scoped(callframe_places_release) = {0};

	callframes_add(&tree->frames, profile, &places);
	vec_for_each(&profile->samples, sample) {
		uint32_t node = walk(tree, &places, sample);
		int64_t *self = tree->self.at + (size_t)node * tree->nr_columns;

		if (tree->keep_ends)
			vec_push(&tree->ends, node);
		for (uint32_t i = 0; i < profile->nr_types; i++) {
			int64_t value = sample->values[i];

			if (value >= 0 || negative_column == CALLTREE_NONE)
				add_to(&self[column + i], value);
			else
				add_to(&self[negative_column + i],
				       value == INT64_MIN ? INT64_MAX : -value);
		}
	}
}

int64_t *calltree_totals(const struct calltree *tree)
{
	uint32_t nr = tree->nr_columns;
	int64_t *totals = xreallocarray(NULL, tree->nodes.nr, nr * sizeof(*totals));

	memcpy(totals, tree->self.at, tree->nodes.nr * nr * sizeof(*totals));
	for (size_t i = tree->nodes.nr; i-- > 1;)
		for (uint32_t column = 0; column < nr; column++)
			add_to(&totals[tree->nodes.at[i].parent * (size_t)nr + column],
			       totals[i * nr + column]);
	return totals;
}

/* Order ------------------------------------------------------------------------------------------- */

struct sibling {
	double weight;
	const char *name;
	uint32_t node;
};

static int compare_siblings(const void *a, const void *b)
{
	const struct sibling *p = a, *q = b;

	if (p->weight != q->weight)
		return p->weight > q->weight ? -1 : 1;
	return strcmp(p->name, q->name) ? strcmp(p->name, q->name) : (p->node > q->node) * 2 - 1;
}

/* Children of each node as a list: first[node], next[child]. 0: none (the root is nobody's child). */
static void link_children(const struct calltree *tree, uint32_t *first, uint32_t *next)
{
	for (size_t i = tree->nodes.nr; i-- > 1;) {
		uint32_t parent = tree->nodes.at[i].parent;

		next[i] = first[parent];
		first[parent] = i;
	}
}

struct siblings {
	vec_of(struct sibling) at;
};

static void siblings_release(struct siblings *siblings)
{
	vec_release(&siblings->at);
}

/* order[i]: which node shall be the i-th. The stack holds nodes whose turn is to come, last first. */
static void preorder(const struct calltree *tree, const double *weights, uint32_t *order)
{
	size_t nr = tree->nodes.nr, nr_stacked = 0, nr_out = 0;
	uint32_t *first scoped(freep) = xcalloc(nr, sizeof(*first));
	uint32_t *next scoped(freep) = xcalloc(nr, sizeof(*next));
	uint32_t *stack scoped(freep) = xcalloc(nr, sizeof(*stack));
	struct siblings siblings scoped(siblings_release) = {0};

	link_children(tree, first, next);
	stack[nr_stacked++] = 0;
	while (nr_stacked) {
		uint32_t node = stack[--nr_stacked];

		order[nr_out++] = node;
		siblings.at.nr = 0;
		for (uint32_t child = first[node]; child; child = next[child]) {
			uint32_t frame = tree->nodes.at[child].frame;

			vec_push(&siblings.at,
				 (struct sibling){weights[child],
						  strtab_get(&tree->frames.strings,
							     tree->frames.at[frame].name),
						  child});
		}
		if (siblings.at.nr > 1)
			qsort(siblings.at.at, siblings.at.nr, sizeof(*siblings.at.at),
			      compare_siblings);
		for (size_t i = siblings.at.nr; i-- > 0;)
			stack[nr_stacked++] = siblings.at.at[i].node;
	}
}

static void renumber(struct calltree *tree, const uint32_t *order)
{
	size_t nr = tree->nodes.nr, row_bytes = tree->nr_columns * sizeof(*tree->self.at);
	struct calltree_node *nodes = xreallocarray(NULL, nr, sizeof(*nodes));
	int64_t *self = xreallocarray(NULL, nr, row_bytes);
	uint32_t *place_of scoped(freep) = xcalloc(nr, sizeof(*place_of));

	for (size_t i = 0; i < nr; i++)
		place_of[order[i]] = i;
	for (size_t i = 0; i < nr; i++) {
		nodes[i] = tree->nodes.at[order[i]];
		if (i)
			nodes[i].parent = place_of[nodes[i].parent];
		nodes[i].end = i + 1;
		memcpy(self + i * tree->nr_columns,
		       tree->self.at + (size_t)order[i] * tree->nr_columns, row_bytes);
	}
	for (size_t i = nr; i-- > 1;)
		if (nodes[nodes[i].parent].end < nodes[i].end)
			nodes[nodes[i].parent].end = nodes[i].end;
	vec_for_each(&tree->ends, end)
		*end = place_of[*end];
	free(tree->nodes.at);
	free(tree->self.at);
	tree->nodes.at = nodes;
	tree->self.at = self;
	tree->nodes.cap = nr;
	tree->self.cap = tree->self.nr;
}

static double magnitude(int64_t value)
{
	return value < 0 ? -(double)value : (double)value;
}

void calltree_arrange(struct calltree *tree, uint32_t column, uint32_t nr)
{
	int64_t *totals scoped(freep) = calltree_totals(tree);
	double *weights scoped(freep) = xcalloc(tree->nodes.nr, sizeof(*weights));
	uint32_t *order scoped(freep) = xcalloc(tree->nodes.nr, sizeof(*order));

	for (size_t i = 0; i < tree->nodes.nr; i++)
		for (uint32_t j = column; j < column + nr; j++)
			weights[i] += magnitude(totals[i * tree->nr_columns + j]);
	preorder(tree, weights, order);
	renumber(tree, order);
}

/* Small stacks ------------------------------------------------------------------------------------ */

/* The largest share of any column that is in or below each node; a child's is at most its parent's. */
static double *shares_of(const struct calltree *tree)
{
	size_t nr = tree->nodes.nr, nr_columns = tree->nr_columns;
	double *shares = xcalloc(nr, sizeof(*shares)), *sums scoped(freep) = NULL;

	sums = xcalloc(nr, sizeof(*sums));
	for (size_t column = 0; column < nr_columns; column++) {
		for (size_t i = 0; i < nr; i++)
			sums[i] = magnitude(tree->self.at[i * nr_columns + column]);
		for (size_t i = nr; i-- > 1;)
			sums[tree->nodes.at[i].parent] += sums[i];
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
 * What has more than `least` stays; equal ones go together, or it would be chance which of them. Of
 * what goes, the frame that a stack ends in stays all the same, so that what is in each function
 * itself comes out right. end_of: where what ended in each node ends in `kept`.
 */
static void copy_large(struct calltree *kept, const struct calltree *tree, const double *shares,
		       double least, uint32_t small, uint32_t *end_of)
{
	size_t nr_columns = tree->nr_columns;
	uint32_t *place_of scoped(freep) = xcalloc(tree->nodes.nr, sizeof(*place_of));

	for (size_t i = 0; i < tree->nodes.nr; i++) {
		const struct calltree_node *node = &tree->nodes.at[i];
		uint32_t to = i ? place_of[node->parent] : 0;
		const int64_t *self = tree->self.at + i * nr_columns;
		bool is_small = i && !(shares[i] > least), ends_here = false;

		if (i && kept->nodes.at[to].frame != small)
			to = child_of(kept, to, is_small ? small : node->frame);
		place_of[i] = to;
		for (size_t column = 0; column < nr_columns; column++)
			ends_here |= self[column] != 0;
		if (is_small && ends_here)
			to = child_of(kept, to, node->frame);
		end_of[i] = to;
		for (size_t column = 0; column < nr_columns; column++)
			add_to(&kept->self.at[to * nr_columns + column], self[column]);
	}
}

#define SWAP(a, b)                      \
	do {                            \
		__typeof__(a) c_ = (a); \
		(a) = (b);              \
		(b) = c_;               \
	} while (0)

size_t calltree_prune(struct calltree *tree, size_t max_nodes)
{
	size_t nr = tree->nodes.nr;
	double *shares scoped(freep) = NULL, *sorted scoped(freep) = NULL;
	uint32_t *end_of scoped(freep) = NULL;
	struct calltree *kept;

	if (nr <= max_nodes || max_nodes < 2)
		return 0;
	shares = shares_of(tree);
	sorted = xreallocarray(NULL, nr, sizeof(*sorted));
	memcpy(sorted, shares, nr * sizeof(*sorted));
	qsort(sorted, nr, sizeof(*sorted), compare_falling);

	end_of = xcalloc(nr, sizeof(*end_of));
	kept = calltree_new(tree->nr_columns, tree->inverted);
	copy_large(kept, tree, shares, sorted[max_nodes],
		   callframes_note(&tree->frames, "[small stacks]"), end_of);
	vec_for_each(&tree->ends, end)
		*end = end_of[*end];
	/* Frames and strings stay; only the nodes are new. */
	SWAP(tree->nodes, kept->nodes);
	SWAP(tree->self, kept->self);
	SWAP(tree->index->slots, kept->index->slots);
	SWAP(tree->index->nr_slots, kept->index->nr_slots);
	calltree_free(kept);
	return nr - tree->nodes.nr;
}
