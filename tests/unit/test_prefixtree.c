// SPDX-License-Identifier: BSD-2-Clause
/* Prefix trees, and the pairs that they are made of. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/pairtable.h"
#include "profile/prefixtree.h"

#define NR_PAIRS 50000

/* The order of first sight, however often the table grows in between, and whatever its secret is. */
static void test_pairs_are_numbered_as_seen(void **state)
{
	struct pairtable table = {0};

	(void)state;
	assert_int_equal(pairtable_find(&table, 0, 0), PAIRTABLE_NONE);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < NR_PAIRS; i++)
			assert_int_equal(pairtable_enter(&table, i / 7, UINT32_MAX - i), i);
	assert_int_equal(table.nr, NR_PAIRS);
	assert_int_equal(table.at[8].first, 1);
	assert_int_equal(table.at[8].second, UINT32_MAX - 8);
	assert_int_equal(pairtable_find(&table, UINT32_MAX - 8, 1), PAIRTABLE_NONE); /* no set */
	assert_int_equal(pairtable_enter(&table, UINT32_MAX, UINT32_MAX), NR_PAIRS);
	pairtable_release(&table);
	assert_int_equal(pairtable_enter(&table, 5, 5), 0);
	pairtable_release(&table);
}

/* The node that a sequence of keys, ended by 0, leads to; value is added to the first column. */
static uint32_t enter(struct prefixtree *tree, const uint32_t *keys, int64_t value)
{
	uint32_t node = PREFIXTREE_ROOT;

	for (; *keys; keys++)
		node = prefixtree_child(tree, node, *keys);
	*prefixtree_self(tree, node) += value;
	return node;
}

#define ENTER(tree, value, ...) enter(tree, (const uint32_t[]){__VA_ARGS__, 0}, value)

struct row {
	uint32_t parent, key, depth, end;
	int64_t self;
};

static void assert_rows(const struct prefixtree *tree, const struct row *rows, size_t nr)
{
	assert_int_equal(prefixtree_nr(tree), nr);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(prefixtree_parent(tree, i), rows[i].parent);
		assert_int_equal(prefixtree_key(tree, i), rows[i].key);
		assert_int_equal(tree->depth[i], rows[i].depth);
		assert_int_equal(tree->end[i], rows[i].end);
		assert_int_equal(*prefixtree_self(tree, i), rows[i].self);
	}
}

static void make_small(struct prefixtree *tree, uint32_t nr_columns)
{
	prefixtree_init(tree, nr_columns);
	assert_int_equal(ENTER(tree, 1, 3, 4), 2);
	assert_int_equal(ENTER(tree, 5, 3, 2), 3);
	assert_int_equal(ENTER(tree, 2, 1), 4);
	assert_int_equal(ENTER(tree, 7, 3, 4), 2); /* seen before */
	assert_int_equal(ENTER(tree, 5, 3, 1), 5);
}

/* As seen: parents first, children in the order in which they came. */
static void test_order_of_first_sight(void **state)
{
	struct prefixtree tree;
	int64_t *totals;

	(void)state;
	make_small(&tree, 1);
	assert_int_equal(prefixtree_nr(&tree), 6);
	assert_int_equal(prefixtree_key(&tree, 3), 2);
	assert_int_equal(prefixtree_parent(&tree, 3), 1);
	assert_null(tree.depth);
	totals = prefixtree_totals(&tree);
	assert_int_equal(totals[0], 20);
	assert_int_equal(totals[1], 18);
	free(totals);
	prefixtree_release(&tree);
}

/* Preorder; siblings by weight, and those of one weight by rank. */
static void test_arranged_by_weight_then_rank(void **state)
{
	static const uint32_t ranks[] = {0, 2, 1, 4, 3}; /* 2 before 1 */
	static const uint64_t weights[] = {20, 18, 8, 5, 2, 5};
	static const struct row rows[] = {
		{PREFIXTREE_NONE, PREFIXTREE_NONE, 0, 6, 0}, /* root */
		{0, 3, 1, 5, 0},
		{1, 4, 2, 3, 8},
		{1, 2, 2, 4, 5},
		{1, 1, 2, 5, 5},
		{0, 1, 1, 6, 2},
	};
	struct prefixtree tree;
	uint32_t moved[6];

	(void)state;
	make_small(&tree, 1);
	prefixtree_arrange(&tree, weights, ranks, moved);
	assert_rows(&tree, rows, 6);
	assert_int_equal(moved[2], 2);
	assert_int_equal(moved[5], 4);
	assert_int_equal(moved[4], 5);
	prefixtree_release(&tree);
}

/* Without weights by rank alone; a node's columns move with it. */
static void test_arranged_by_rank(void **state)
{
	static const uint32_t ranks[] = {0, 1, 2, 3, 4};
	static const struct row rows[] = {
		{PREFIXTREE_NONE, PREFIXTREE_NONE, 0, 6, 0},
		{0, 1, 1, 2, 2},
		{0, 3, 1, 6, 0},
		{2, 1, 2, 4, 5},
		{2, 2, 2, 5, 5},
		{2, 4, 2, 6, 8},
	};
	struct prefixtree tree;

	(void)state;
	make_small(&tree, 3);
	prefixtree_self(&tree, 3)[2] = 77;
	prefixtree_arrange(&tree, NULL, ranks, NULL);
	assert_rows(&tree, rows, 6);
	assert_int_equal(prefixtree_self(&tree, 4)[2], 77);
	assert_int_equal(prefixtree_self(&tree, 4)[1], 0);
	prefixtree_release(&tree);
}

/* A recursion is a chain, and the sum at its root sticks at the end of int64_t. */
static void test_deep_chain(void **state)
{
	enum {
		DEPTH = 300000
	};
	static const uint32_t ranks[] = {0, 1};
	struct prefixtree tree;
	uint32_t node = PREFIXTREE_ROOT;
	int64_t *totals;

	(void)state;
	prefixtree_init(&tree, 1);
	for (int i = 0; i < DEPTH; i++)
		node = prefixtree_child(&tree, node, 1);
	*prefixtree_self(&tree, node) = INT64_MAX;
	*prefixtree_self(&tree, 1) = 1;
	prefixtree_arrange(&tree, NULL, ranks, NULL);
	assert_int_equal(prefixtree_nr(&tree), DEPTH + 1);
	assert_int_equal(tree.depth[DEPTH], DEPTH);
	assert_int_equal(tree.end[0], DEPTH + 1);
	totals = prefixtree_totals(&tree);
	assert_true(totals[0] == INT64_MAX);
	free(totals);
	prefixtree_release(&tree);
}

/* Nothing but a root can be arranged too. */
static void test_empty(void **state)
{
	static const struct row rows[] = {{PREFIXTREE_NONE, PREFIXTREE_NONE, 0, 1, 0}};
	struct prefixtree tree;

	(void)state;
	prefixtree_init(&tree, 1);
	prefixtree_arrange(&tree, NULL, NULL, NULL);
	assert_rows(&tree, rows, 1);
	prefixtree_release(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs_are_numbered_as_seen),
		cmocka_unit_test(test_order_of_first_sight),
		cmocka_unit_test(test_arranged_by_weight_then_rank),
		cmocka_unit_test(test_arranged_by_rank),
		cmocka_unit_test(test_deep_chain),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
