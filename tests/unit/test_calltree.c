// SPDX-License-Identifier: BSD-2-Clause
/* The call tree of a profile: inlined functions, inversion, differences, recursion, and very deep stacks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "profile/calltree.h"
#include "profile_case.h"

/* "main 3 1\n f 2 2\n": a line a node but the root, indented by depth, with what ends in it. */
static char *tree_text(const struct calltree *tree)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 1; i < prefixtree_nr(&tree->stacks); i++) {
		uint32_t frame = prefixtree_key(&tree->stacks, i);

		fprintf(out, "%*s%s", (int)tree->stacks.depth[i] - 1, "",
			strtab_get(&tree->frames.strings, tree->frames.at[frame].name));
		for (uint32_t column = 0; column < tree->stacks.nr_columns; column++)
			fprintf(out, " %ld", prefixtree_self(&tree->stacks, i)[column]);
		fputc('\n', out);
	}
	fclose(out);
	return text;
}

#define assert_tree(tree, expected) assert_text(tree_text(tree), expected)

/* Of one column, the profile's first type. */
static struct calltree *tree_of(const struct profile *profile, bool inverted)
{
	struct calltree *tree = calltree_new(1, inverted);

	calltree_add(tree, profile, 0, CALLTREE_NONE);
	calltree_arrange(tree, 0, 1);
	return tree;
}

static struct profile *small_profile(void)
{
	struct profile *profile = case_new("samples/count");

	case_add(profile, "main;b;c", "", 2);
	case_add(profile, "main;a", "", 1);
	case_add(profile, "main;b;d", "", 5);
	case_add(profile, "main;b", "", 1);
	case_add(profile, "main;b;c", "pid#7", 4); /* the same stack, another sample */
	return profile;
}

static void test_stacks_share_their_callers(void **state)
{
	struct profile *profile = small_profile();
	struct calltree *tree = tree_of(profile, false);
	int64_t *totals;

	(void)state;
	assert_tree(tree, "main 0\n b 1\n  c 6\n  d 5\n a 1\n");
	totals = prefixtree_totals(&tree->stacks);
	assert_int_equal(totals[0], 13);
	assert_int_equal(totals[2], 12); /* b */
	assert_int_equal(tree->stacks.end[2], 5);
	assert_int_equal(tree->stacks.end[0], 6);
	free(totals);
	calltree_free(tree);
	profile_free(profile);
}

static void test_inverted_begins_with_leaves(void **state)
{
	struct profile *profile = small_profile();
	struct calltree *tree = tree_of(profile, true);

	(void)state;
	assert_tree(tree, "c 0\n b 0\n  main 6\nd 0\n b 0\n  main 5\na 0\n main 1\nb 0\n main 1\n");
	calltree_free(tree);
	profile_free(profile);
}

static void test_inlined_functions_are_frames(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct calltree *tree;
	const struct callframe *inl;

	(void)state;
	case_add(profile, "main;f,inl,inner;g", "", 3);
	case_add(profile, "main;inl", "", 1);
	tree = tree_of(profile, false);
	assert_tree(tree, "main 0\n f 0\n  inl 0\n   inner 0\n    g 3\n inl 1\n");
	inl = &tree->frames.at[prefixtree_key(&tree->stacks, 3)];
	assert_true(inl->inlined && inl->called);
	assert_int_equal(inl->first_line, 7);
	assert_string_equal(strtab_get(&tree->frames.strings, inl->path), "inl.c");
	calltree_free(tree);
	profile_free(profile);
}

static uint32_t add_location(struct profile *profile, const char *name, const char *file,
			     const char *mapping)
{
	struct profile_mapping map = {.limit = 0x1000, .path = profile_string(profile, mapping)};
	struct profile_function function = {.name = profile_string(profile, name),
					    .path = profile_string(profile, file)};
	struct profile_line line = {.function = profile_function_id(profile, &function)};
	struct profile_location location = {.mapping = profile_mapping_id(profile, &map),
					    .lines = &line,
					    .nr_lines = *name ? 1 : 0};

	location.address = hash_bytes(name, strlen(name), location.mapping) % 0x1000;
	return profile_location_id(profile, &location);
}

static void add_leaf(struct profile *profile, const char *name, const char *file,
		     const char *mapping, int64_t value)
{
	case_add_at(profile, add_location(profile, name, file, mapping), value);
}

/* Two builds, each in its folder: one function. Two functions of one name in two files: two. */
static void test_two_builds_in_one_tree(void **state)
{
	struct profile *head = case_new("samples/count"), *base = case_new("samples/count");
	struct calltree *tree = calltree_new(2, false);

	(void)state;
	add_leaf(head, "f", "/new/src/f.c", "/new/app", 5);
	add_leaf(base, "f", "/old/src/f.c", "/old/app", 3);
	add_leaf(base, "f", "/old/src/other.c", "/old/app", 1);
	add_leaf(base, "gone", "", "/old/app", 2);
	calltree_add(tree, head, 0, 1);
	calltree_add(tree, base, 1, 0);
	calltree_arrange(tree, 0, 2);
	assert_tree(tree, "f 5 3\ngone 0 2\nf 0 1\n");
	calltree_free(tree);
	profile_free(head);
	profile_free(base);
}

static void test_negative_values_are_the_base(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct calltree *tree = calltree_new(2, false);

	(void)state;
	case_add(profile, "a", "", -4);
	case_add(profile, "b", "", INT64_MIN);
	case_add(profile, "c", "", 7);
	calltree_add(tree, profile, 0, 1);
	calltree_arrange(tree, 0, 2);
	assert_tree(tree, "b 0 9223372036854775807\nc 7 0\na 0 4\n");
	calltree_free(tree);
	profile_free(profile);
}

static void test_kinds(void **state)
{
	static const struct {
		const char *name, *mapping;
		enum frame_kind kind;
	} rows[] = {
		{"f", "/usr/bin/app", FRAME_PROGRAM},
		{"f", "/usr/lib/libfoo.so.6", FRAME_LIBRARY},
		{"f", "/usr/lib/libfoo.so", FRAME_LIBRARY},
		{"f", "[vdso]", FRAME_LIBRARY},
		{"do_syscall_64", "[kernel.kallsyms]", FRAME_KERNEL},
		{"[kernel]+0xffffffff81000000", "[kernel.kallsyms]", FRAME_KERNEL},
		{"nf_hook", "/lib/modules/6.1/nf.ko", FRAME_KERNEL},
		{"libfoo.so.6+0x1234", "/usr/lib/[libfoo.so.6]", FRAME_UNNAMED},
		{"LazyCompile:~f", "//anon", FRAME_JIT},
		{"f [guessed]", "/usr/bin/app", FRAME_GUESSED},
		{"[truncated: no unwind info]", "[cprof]", FRAME_NOTE},
		{"operator+", "/usr/bin/app", FRAME_PROGRAM},
		{"operator[]", "/usr/bin/app", FRAME_PROGRAM},
		{"", "/usr/lib/libfoo.so.6", FRAME_UNNAMED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct profile *profile = case_new("samples/count");
		struct calltree *tree;

		add_leaf(profile, rows[i].name, "", rows[i].mapping, 1);
		tree = tree_of(profile, false);
		assert_int_equal(tree->frames.at[0].kind, rows[i].kind);
		calltree_free(tree);
		profile_free(profile);
	}
}

static void test_odd_stacks(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct calltree *tree;

	(void)state;
	case_add(profile, "", "", 2);
	add_leaf(profile, "", "", "/usr/lib/libfoo.so.6", 3);
	add_leaf(profile, "", "", "", 1);
	tree = tree_of(profile, false);
	assert_tree(tree, "[libfoo.so.6] 3\n[no stack] 2\n[unknown] 1\n");
	calltree_free(tree);
	profile_free(profile);
}

/* A stack as deep as there are, and a sum that would overflow. */
static void test_deep_and_large(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct calltree *tree;
	uint32_t locations[8192], f = case_location(profile, "f");
	int64_t value = INT64_MAX, *totals;
	struct profile_sample sample = {
		.locations = locations, .nr_locations = 8192, .values = &value};

	(void)state;
	for (size_t i = 0; i < 8192; i++)
		locations[i] = f;
	profile_add_sample(profile, &sample);
	sample.nr_locations = 8000;
	profile_add_sample(profile, &sample);
	tree = tree_of(profile, false);
	assert_int_equal(prefixtree_nr(&tree->stacks), 8193);
	assert_int_equal(tree->stacks.depth[8192], 8192);
	totals = prefixtree_totals(&tree->stacks);
	assert_true(totals[0] == INT64_MAX);
	free(totals);
	calltree_free(tree);
	profile_free(profile);
}

/* A recursion below many roots: nodes that only their parents tell apart. Quadratic, it took half a minute. */
static void test_recursion_takes_its_time_only(void **state)
{
	enum {
		DEPTH = 20000,
		NR_ROOTS = 40
	};
	struct profile *profile = case_new("samples/count");
	struct calltree *tree = calltree_new(1, false);
	uint32_t locations[DEPTH + 1], f = case_location(profile, "f");
	int64_t value = 1;
	struct profile_sample sample = {
		.locations = locations, .nr_locations = DEPTH + 1, .values = &value};
	clock_t start = clock();

	(void)state;
	for (size_t i = 0; i < DEPTH; i++)
		locations[i] = f;
	for (int i = 0; i < NR_ROOTS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "root%d", i);
		locations[DEPTH] = case_location(profile, name);
		profile_add_sample(profile, &sample);
	}
	calltree_add(tree, profile, 0, CALLTREE_NONE);
	assert_int_equal(prefixtree_nr(&tree->stacks), 1 + NR_ROOTS * (DEPTH + 1));
	assert_true((clock() - start) / CLOCKS_PER_SEC < 8);
	calltree_free(tree);
	profile_free(profile);
}

/* Small stacks lose their middle, and no value: what is in each function itself stays. */
static void test_pruned_values_stay(void **state)
{
	struct profile *profile = case_new("samples/count");
	struct calltree *tree = calltree_new(1, false);

	(void)state;
	case_add(profile, "main;large;leaf", "", 90);
	case_add(profile, "main;small;x;y;leaf", "", 2);
	case_add(profile, "main;small;x;z", "", 1);
	calltree_add(tree, profile, 0, CALLTREE_NONE);
	assert_int_equal(calltree_prune(tree, 100), 0);
	assert_true(calltree_prune(tree, 4) > 0);
	calltree_arrange(tree, 0, 1);
	assert_tree(tree, "main 0\n large 0\n  leaf 90\n [small stacks] 0\n  leaf 2\n  z 1\n");
	calltree_free(tree);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks_share_their_callers),
		cmocka_unit_test(test_inverted_begins_with_leaves),
		cmocka_unit_test(test_inlined_functions_are_frames),
		cmocka_unit_test(test_two_builds_in_one_tree),
		cmocka_unit_test(test_negative_values_are_the_base),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_odd_stacks),
		cmocka_unit_test(test_deep_and_large),
		cmocka_unit_test(test_recursion_takes_its_time_only),
		cmocka_unit_test(test_pruned_values_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
