// SPDX-License-Identifier: BSD-2-Clause
/*
 * cprof tree: the calls from the root, indented.
 *
 * Stacks are deep and mostly straight: dozens of frames of which each has one callee that takes all
 * of it. Indenting each would push what matters off the right edge, so a frame that takes everything
 * its caller has stands below it, not to the right (perf report --stdio does so too).
 *
 * In a difference what grew and what shrank cancel: a caller of both may have a total of 0, and what
 * changed is right below it. So what is cut off, and what counts as everything, goes by weight: the
 * magnitudes of what each frame below has itself, added up. Without negative values it is the total.
 */
#include "cmd.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/magnitude.h"
#include "base/text.h"
#include "base/textout.h"
#include "profile/stacktree.h"
#include "tools/newest.h"
#include "tools/reading.h"
#include "tools/view.h"

#define DEFAULT_SHARE 0.5
#define MAX_INDENT    60 /* columns; what is deeper has its level written out */

struct tree {
	struct view view;
	double min_share; /* percent; negative: not given */
	uint32_t depth;	  /* 0: any */
	struct frames frames;
	struct stacktree stacks;
	int64_t *totals;
	uint64_t *weight; /* of each node */
	uint32_t *indent; /* of each node, in steps */
};

static bool is_hidden(const struct tree *tree, uint32_t node)
{
	double least = tree->min_share / 100 * (double)tree->view.selection.total;

	return (tree->depth && tree->stacks.stacks.depth[node] > tree->depth) ||
	       (double)tree->weight[node] < least;
}

/* Children stand after their parents. A sum beyond 64 bits sticks at the end. */
static void weigh_all(struct tree *tree)
{
	const struct prefixtree *stacks = &tree->stacks.stacks;

	tree->weight = xcalloc(prefixtree_nr(stacks), sizeof(*tree->weight));
	for (size_t i = prefixtree_nr(stacks); i-- > 1;) {
		uint64_t *weight = &tree->weight[i];
		uint64_t *parent = &tree->weight[prefixtree_parent(stacks, i)];

		if (__builtin_add_overflow(*weight, magnitude_of(*prefixtree_self(stacks, i)),
					   weight))
			*weight = UINT64_MAX;
		if (__builtin_add_overflow(*parent, *weight, parent))
			*parent = UINT64_MAX;
	}
}

/* Parents stand before their children; those below the root have none. */
static void indent_all(struct tree *tree)
{
	const struct prefixtree *stacks = &tree->stacks.stacks;

	tree->indent = xcalloc(prefixtree_nr(stacks), sizeof(*tree->indent));
	for (size_t i = 1; i < prefixtree_nr(stacks); i++) {
		uint32_t parent = prefixtree_parent(stacks, i);

		if (parent != PREFIXTREE_ROOT)
			tree->indent[i] =
				tree->indent[parent] + (tree->weight[parent] != tree->weight[i]);
	}
}

static void print_node(const struct tree *tree, uint32_t node)
{
	const struct view *view = &tree->view;
	int64_t in_all = tree->totals[node], own = *prefixtree_self(&tree->stacks.stacks, node);
	char total[UNIT_TEXT_BYTES], self[UNIT_TEXT_BYTES], shares[2][UNIT_TEXT_BYTES];
	char *name scoped(freep) = view_frame_name(view, stacktree_frame(&tree->stacks, node));
	uint32_t columns = 2 * tree->indent[node];

	printf("%s%10s %s%s %10s %s  ", view_colour(view, in_all), view_value(view, in_all, total),
	       view_share(view, in_all, shares[0]), view_plain(view), view_value(view, own, self),
	       view_share(view, own, shares[1]));
	if (columns > MAX_INDENT)
		printf("%*s(%u) %s\n", MAX_INDENT, "", tree->indent[node], name);
	else
		printf("%*s%s\n", (int)columns, "", name);
}

/* In preorder, without what is below a node that is hidden. */
static uint32_t next_of(const struct tree *tree, uint32_t node)
{
	return is_hidden(tree, node) ? tree->stacks.stacks.end[node] : node + 1;
}

static int64_t smallest_shown(const struct tree *tree)
{
	const struct prefixtree *stacks = &tree->stacks.stacks;
	int64_t smallest = 0;

	for (uint32_t i = 1; i < prefixtree_nr(stacks); i = next_of(tree, i)) {
		int64_t self = *prefixtree_self(stacks, i), value = self ? self : tree->totals[i];

		if (!is_hidden(tree, i) && (!smallest || compare_magnitudes(value, smallest) > 0))
			smallest = value;
	}
	return smallest;
}

static void print_text(struct tree *tree)
{
	const struct prefixtree *stacks = &tree->stacks.stacks;
	uint64_t nr_hidden = 0;

	view_choose_unit(&tree->view, smallest_shown(tree));
	view_print_head(&tree->view);
	printf("%10s %5s%% %10s %5s%%  calls\n", "total", "total", "self", "self");
	for (uint32_t i = 1; i < prefixtree_nr(stacks); i = next_of(tree, i)) {
		if (is_hidden(tree, i))
			nr_hidden++;
		else
			print_node(tree, i);
	}
	if (nr_hidden)
		printf("%s %s cut off (--min-share %g%%%s)\n", text_count(nr_hidden),
		       nr_hidden == 1 ? "branch is" : "branches are", tree->min_share,
		       tree->depth ? ", --depth" : "");
}

static void print_json(const struct tree *tree)
{
	const struct prefixtree *stacks = &tree->stacks.stacks;
	struct json json;

	view_begin_json(&tree->view, "tree", &json);
	json_key(&json, "rows"), json_array(&json);
	for (uint32_t i = 1; i < prefixtree_nr(stacks); i = next_of(tree, i)) {
		if (is_hidden(tree, i))
			continue;
		json_object(&json);
		json_key(&json, "depth"), json_uint(&json, stacks->depth[i] - 1);
		view_put_frame(&json, stacktree_frame(&tree->stacks, i));
		json_key(&json, "self"), json_int(&json, *prefixtree_self(stacks, i));
		json_key(&json, "total"), json_int(&json, tree->totals[i]);
		json_end(&json);
	}
	json_end(&json);
	view_end_json(&json);
}

/* Whether the names alone are more than should be written: a short file may repeat a long name in one deep stack. */
static bool is_too_long(const struct tree *tree)
{
	const struct prefixtree *stacks = &tree->stacks.stacks;
	uint64_t sum = 0;

	for (uint32_t i = 1; i < prefixtree_nr(stacks); i = next_of(tree, i))
		if (!is_hidden(tree, i))
			sum += strlen(stacktree_frame(&tree->stacks, i)->name);
	return sum > TEXT_OUT_MAX_BYTES;
}

static enum exit_code too_large(void)
{
	int err =
		fail(-E2BIG,
		     "too many or too long stacks for a tree: choose some with --focus, --depth or "
		     "--min-share, or use cprof top.");

	return err ? EXIT_USAGE : EXIT_DONE;
}

static enum exit_code print(struct tree *tree)
{
	if (is_too_long(tree))
		return too_large();
	if (tree->view.json)
		print_json(tree);
	else
		print_text(tree);
	return EXIT_DONE;
}

static enum exit_code show(struct tree *tree, const struct arg_list *paths)
{
	enum exit_code code;

	if (tree->min_share < 0)
		tree->min_share = tree->view.json ? 0 : DEFAULT_SHARE;
	if (view_open(&tree->view, paths, false))
		return EXIT_USAGE;
	frames_make(tree->view.profile, tree->view.by, &tree->frames);
	if (stacktree_make(tree->view.profile, tree->view.type, &tree->frames, &tree->stacks)) {
		frames_release(&tree->frames);
		view_release(&tree->view);
		return too_large();
	}
	stacktree_sort(&tree->stacks, STACKTREE_BY_TOTAL);
	tree->totals = prefixtree_totals(&tree->stacks.stacks);
	weigh_all(tree);
	indent_all(tree);
	code = print(tree);
	free(tree->totals);
	free(tree->weight);
	free(tree->indent);
	stacktree_release(&tree->stacks);
	frames_release(&tree->frames);
	view_release(&tree->view);
	return code;
}

int cmd_tree(int argc, char **argv)
{
	struct tree tree = {.min_share = -1};
	struct reading reading = {.no_sandbox = false};
	const struct arg_row rows[] = {
		{"min-share", 0, ARG_PERCENT, "PERCENT",
		 "hide branches below this share (default 0.5%; with --json "
		 "0)",
		 &tree.min_share},
		{"depth", 0, ARG_COUNT, "N", "show at most N frames from the root", &tree.depth},
		VIEW_ROWS(&tree.view),
		READING_ROWS(&reading),
	};
	struct args args scoped(args_release) = {
		.command = "tree",
		.operands = "[FILE...]",
		.needs_file = true,
		.implied = &newest_operand,
		.about = "Print the call tree of a profile, indented from the root. A frame with "
			 "the same value "
			 "as its caller is not indented further. Several files are merged; - is "
			 "stdin.",
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog = "Exit codes: 0 success, 2 usage error or a file cannot be read.",
	};
	enum exit_code code;

	return reading_begin(&reading, &args, argc, argv, &code) ? show(&tree, &args.operand)
								 : code;
}
