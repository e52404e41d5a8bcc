// SPDX-License-Identifier: BSD-2-Clause
/* Profiles added up by frame, and as a tree of stacks: known answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "profile/stacktree.h"
#include "profile/summary.h"
#include "profile_case.h"

static const struct summary_node *find(const struct summary *summary, const char *name)
{
	for (size_t i = 0; i < summary->nr; i++)
		if (!strcmp(summary->nodes[i].frame->name, name))
			return &summary->nodes[i];
	return NULL;
}

/* flat, cum; -1: it must not be there. */
static void expect(const struct summary *summary, const char *name, int64_t flat, int64_t cum)
{
	const struct summary_node *node = find(summary, name);

	if (cum == -1) {
		assert_null(node);
		return;
	}
	assert_non_null(node);
	assert_int_equal(node->flat, flat);
	assert_int_equal(node->cum, cum);
}

static const struct summary_edge *edge(const struct summary *summary, const char *caller,
				       const char *callee)
{
	const struct summary_node *node = find(summary, caller);

	for (uint32_t i = 0; node && i < node->nr_callees; i++) {
		const struct summary_node *other = &summary->nodes[node->callees[i].callee];

		if (!strcmp(other->frame->name, callee))
			return &node->callees[i];
	}
	return NULL;
}

static void test_recursion(void **state)
{
	struct profile *profile = case_new("samples/count cpu/nanoseconds");
	struct summary summary;

	(void)state;
	case_add(profile, "main;f;f;g;f;g", "", 1, 10);
	case_add(profile, "main;g", "", 2, 20);
	case_add(profile, "main;f;h", "", 0, 0);
	summary_make(profile, 1, FRAME_BY_FUNCTION, &summary);
	assert_int_equal(summary.nr, 3);
	expect(&summary, "main", 0, 30);
	expect(&summary, "f", 0, 10);
	expect(&summary, "g", 30, 30);
	expect(&summary, "h", 0, -1);
	assert_int_equal(summary.total, 30);
	/* Once a sample, and never to itself. */
	assert_int_equal(edge(&summary, "f", "g")->value, 10);
	assert_int_equal(edge(&summary, "g", "f")->value, 10);
	assert_int_equal(edge(&summary, "main", "g")->value, 20);
	assert_null(edge(&summary, "f", "f"));
	assert_string_equal(summary.nodes[0].frame->name, "g");
	assert_string_equal(summary.nodes[summary.by_cum[0]].frame->name, "g");
	assert_string_equal(summary.nodes[summary.by_cum[1]].frame->name, "main");
	assert_int_equal(summary.nodes[0].nr_callers, 2);
	assert_int_equal(summary.nodes[0].callers[0].value, 20);
	summary_release(&summary);
	profile_free(profile);
}

/* "f,inl" is one location, inl inlined into f: the leaf's innermost line has the flat value. */
static void test_inlines(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct summary summary;

	(void)state;
	case_add(profile, "main;f,inl", "", 5);
	case_add(profile, "main;f;other", "", 1);
	summary_make(profile, 0, FRAME_BY_FUNCTION, &summary);
	expect(&summary, "inl", 5, 5);
	expect(&summary, "f", 0, 6);
	assert_true(edge(&summary, "f", "inl")->is_inline);
	assert_false(edge(&summary, "main", "f")->is_inline);
	summary_release(&summary);
	summary_make(profile, 0, FRAME_BY_MAPPING, &summary);
	assert_int_equal(summary.nr, 1);
	expect(&summary, "/bin/case", 6, 6);
	summary_release(&summary);
	profile_free(profile);
}

/* Equal values stand in the order of names, whatever came first. */
static void test_order(void **state)
{
	static const char *const names[] = {"d", "b", "a", "c"};
	struct profile *profile = case_new("samples/count");
	struct summary summary;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		case_add(profile, names[i], "", 7);
	case_add(profile, "z", "", -8);
	summary_make(profile, 0, FRAME_BY_FUNCTION, &summary);
	assert_string_equal(summary.nodes[0].frame->name, "z");
	for (size_t i = 1; i < 5; i++)
		assert_int_equal(summary.nodes[i].frame->name[0], "zabcd"[i]);
	assert_int_equal(summary.total, 36);
	summary_release(&summary);
	profile_free(profile);
}

static void test_overflow(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct summary summary;

	(void)state;
	case_add(profile, "main;a", "", INT64_MAX);
	case_add(profile, "main;b", "", INT64_MAX);
	case_add(profile, "main;c", "", INT64_MIN);
	case_add(profile, "main;c;d", "", INT64_MIN);
	summary_make(profile, 0, FRAME_BY_FUNCTION, &summary);
	assert_int_equal(summary.total, INT64_MAX);
	expect(&summary, "c", INT64_MIN, INT64_MIN);
	assert_int_equal(edge(&summary, "main", "c")->value, INT64_MIN);
	summary_release(&summary);
	profile_free(profile);
}

/* The whole of a difference is its base (go tool pprof -diff_base). */
static void test_whole(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct summary summary;

	(void)state;
	case_add(profile, "main;a", "", 12);
	case_add(profile, "", "", 3);
	assert_int_equal(profile_whole(profile, 0), 15);
	summary_make(profile, 0, FRAME_BY_FUNCTION, &summary);
	assert_int_equal(summary.unplaced, 3);
	summary_release(&summary);
	case_add(profile, "main;a", "pprof::base=true", -10);
	assert_int_equal(profile_whole(profile, 0), 10);
	profile_free(profile);
}

static const char *name_of(const struct stacktree *tree, uint32_t node)
{
	return stacktree_frame(tree, node)->name;
}

static void test_tree(void **state)
{
	static const struct {
		const char *name;
		uint32_t depth;
		int64_t self, total;
	} expected[] = {{"main", 0, 1, 18}, {"g", 1, 9, 9},   {"f", 1, 0, 8},
			{"f", 2, 5, 8},	    {"inl", 3, 3, 3}, {"other", 0, 2, 2}};
	struct profile *profile = case_new("samples/count");
	struct frames frames;
	struct stacktree tree;
	int64_t *totals;

	(void)state;
	case_add(profile, "main;f;f", "", 5);
	case_add(profile, "main;g", "", 9);
	case_add(profile, "main", "", 1);
	case_add(profile, "other", "", 2);
	case_add(profile, "main;f;f,inl", "", 3);
	frames_make(profile, FRAME_BY_FUNCTION, &frames);
	assert_int_equal(stacktree_make(profile, 0, &frames, &tree), 0);
	stacktree_sort(&tree, STACKTREE_BY_TOTAL);
	totals = prefixtree_totals(&tree.stacks);
	assert_int_equal(prefixtree_nr(&tree.stacks), 1 + 6);
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(name_of(&tree, i + 1), expected[i].name);
		assert_int_equal(tree.stacks.depth[i + 1], 1 + expected[i].depth);
		assert_int_equal(*prefixtree_self(&tree.stacks, i + 1), expected[i].self);
		assert_int_equal(totals[i + 1], expected[i].total);
	}
	free(totals);
	assert_string_equal(name_of(&tree, tree.stacks.end[1]), "other");
	assert_string_equal(name_of(&tree, tree.sample_node[1]), "g");
	stacktree_release(&tree);
	frames_release(&frames);
	profile_free(profile);
}

/* Paths are cleaned as Go's filepath.Clean does it. */
static void test_paths(void **state)
{
	static const char *const paths[][2] = {
		{"./a//b/../c.c", "a/c.c"}, {"../../x.c", "../../x.c"}, {"/../x.c", "/x.c"},
		{"a/../../b.c", "../b.c"},  {"/a/./b/..", "/a"},	{"a/..", "."},
		{"a.b/..c/d", "a.b/..c/d"}, {"//x//y/", "/x/y"},	{"./", "."}};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct profile *profile = case_new("samples/count");
		struct frames frames;

		case_add(profile, "main", "", 1);
		profile->functions.at[0].path = profile_string(profile, paths[i][0]);
		frames_make(profile, FRAME_BY_FILE, &frames);
		assert_string_equal(frames.at[0].name, paths[i][1]);
		frames_release(&frames);
		profile_free(profile);
	}
}

/* A location without a line is its mapping. */
static void test_unnamed(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct profile_location location = {.mapping = case_mapping(profile), .address = 0x1234};
	uint32_t ids[2] = {profile_location_id(profile, &location)};
	int64_t one = 1;
	struct frames frames;

	(void)state;
	location = (struct profile_location){.address = 0x99};
	ids[1] = profile_location_id(profile, &location);
	profile_add_sample(profile, &(struct profile_sample){
					    .locations = ids, .nr_locations = 2, .values = &one});
	frames_make(profile, FRAME_BY_FUNCTION, &frames);
	assert_string_equal(frames.at[0].name, "[case]");
	assert_string_equal(frames.at[1].name, "<unknown>");
	frames_release(&frames);
	frames_make(profile, FRAME_BY_ADDRESS, &frames);
	assert_string_equal(frames.at[0].name, "0000000000001234 [case]");
	frames_release(&frames);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recursion), cmocka_unit_test(test_inlines),
		cmocka_unit_test(test_order),	  cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_whole),	  cmocka_unit_test(test_tree),
		cmocka_unit_test(test_paths),	  cmocka_unit_test(test_unnamed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
