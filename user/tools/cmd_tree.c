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

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/magnitude.h"
#include "base/text.h"
#include "profile/stacktree.h"
#include "tools/view.h"

#define DEFAULT_SHARE 0.5
#define MAX_INDENT    60 /* columns; what is deeper has its level written out */

struct tree {
	struct view view;
	double min_share; /* percent; negative: not given */
	uint32_t depth;	  /* 0: any */
	struct frames frames;
	struct stacktree stacks;
	uint64_t *weight; /* of each node */
	uint32_t *indent; /* of each node, in steps */
};

static bool is_hidden(const struct tree *tree, uint32_t node)
{
	double least = tree->min_share / 100 * (double)tree->view.selection.total;

	return (tree->depth && tree->stacks.at[node].depth >= tree->depth) ||
	       (double)tree->weight[node] < least;
}

/* Children stand after their parents. A sum beyond 64 bits sticks at the end. */
static void weigh_all(struct tree *tree)
{
	tree->weight = xcalloc(tree->stacks.nr, sizeof(*tree->weight));
	for (size_t i = tree->stacks.nr; i-- > 0;) {
		const struct stacktree_node *node = &tree->stacks.at[i];
		uint64_t *weight = &tree->weight[i], *parent;

		if (__builtin_add_overflow(*weight, magnitude_of(node->self), weight))
			*weight = UINT64_MAX;
		if (node->parent == STACKTREE_NONE)
			continue;
		parent = &tree->weight[node->parent];
		if (__builtin_add_overflow(*parent, *weight, parent))
			*parent = UINT64_MAX;
	}
}

/* Parents stand before their children. */
static void indent_all(struct tree *tree)
{
	tree->indent = xcalloc(tree->stacks.nr, sizeof(*tree->indent));
	for (size_t i = 0; i < tree->stacks.nr; i++) {
		uint32_t parent = tree->stacks.at[i].parent;

		if (parent != STACKTREE_NONE)
			tree->indent[i] =
				tree->indent[parent] + (tree->weight[parent] != tree->weight[i]);
	}
}

static void print_node(const struct tree *tree, uint32_t node)
{
	const struct view *view = &tree->view;
	const struct stacktree_node *at = &tree->stacks.at[node];
	char total[UNIT_TEXT_BYTES], self[UNIT_TEXT_BYTES], shares[2][UNIT_TEXT_BYTES];
	char *name scoped(freep) = view_frame_name(view, &tree->frames.at[at->frame]);
	uint32_t columns = 2 * tree->indent[node];

	printf("%s%10s %s%s %10s %s  ", view_colour(view, at->total),
	       view_value(view, at->total, total), view_share(view, at->total, shares[0]),
	       view_plain(view), view_value(view, at->self, self),
	       view_share(view, at->self, shares[1]));
	if (columns > MAX_INDENT)
		printf("%*s(%u) %s\n", MAX_INDENT, "", tree->indent[node], name);
	else
		printf("%*s%s\n", (int)columns, "", name);
}

static int64_t smallest_shown(const struct tree *tree)
{
	const struct stacktree *stacks = &tree->stacks;
	int64_t smallest = 0;

	for (uint32_t i = stacktree_first(stacks); i != STACKTREE_NONE;
	     i = is_hidden(tree, i) ? stacktree_skip(stacks, i) : stacktree_next(stacks, i)) {
		int64_t value = stacks->at[i].self ? stacks->at[i].self : stacks->at[i].total;

		if (!is_hidden(tree, i) && (!smallest || compare_magnitudes(value, smallest) > 0))
			smallest = value;
	}
	return smallest;
}

static void print_text(struct tree *tree)
{
	const struct stacktree *stacks = &tree->stacks;
	uint64_t nr_hidden = 0;
	uint32_t i = stacktree_first(stacks);

	view_choose_unit(&tree->view, smallest_shown(tree));
	view_print_head(&tree->view);
	printf("%10s %5s%% %10s %5s%%  calls\n", "total", "total", "self", "self");
	while (i != STACKTREE_NONE) {
		if (is_hidden(tree, i)) {
			nr_hidden++;
			i = stacktree_skip(stacks, i);
			continue;
		}
		print_node(tree, i);
		i = stacktree_next(stacks, i);
	}
	if (nr_hidden)
		printf("%s %s cut off (--min-share %g%%%s)\n", text_count(nr_hidden),
		       nr_hidden == 1 ? "branch is" : "branches are", tree->min_share,
		       tree->depth ? ", --depth" : "");
}

static void print_json(const struct tree *tree)
{
	const struct stacktree *stacks = &tree->stacks;
	struct json json;
	uint32_t i = stacktree_first(stacks);

	view_begin_json(&tree->view, "tree", &json);
	json_key(&json, "rows"), json_array(&json);
	while (i != STACKTREE_NONE) {
		if (is_hidden(tree, i)) {
			i = stacktree_skip(stacks, i);
			continue;
		}
		json_object(&json);
		json_key(&json, "depth"), json_uint(&json, stacks->at[i].depth);
		view_put_frame(&json, &tree->frames.at[stacks->at[i].frame]);
		json_key(&json, "self"), json_int(&json, stacks->at[i].self);
		json_key(&json, "total"), json_int(&json, stacks->at[i].total);
		json_end(&json);
		i = stacktree_next(stacks, i);
	}
	json_end(&json);
	view_end_json(&json);
}

static enum exit_code show(struct tree *tree, const struct arg_list *paths)
{
	if (tree->min_share < 0)
		tree->min_share = tree->view.json ? 0 : DEFAULT_SHARE;
	if (view_open(&tree->view, paths, false))
		return EXIT_USAGE;
	frames_make(tree->view.profile, tree->view.by, &tree->frames);
	stacktree_make(tree->view.profile, tree->view.type, &tree->frames, &tree->stacks);
	stacktree_sort(&tree->stacks, STACKTREE_BY_TOTAL);
	weigh_all(tree);
	indent_all(tree);
	if (tree->view.json)
		print_json(tree);
	else
		print_text(tree);
	free(tree->weight);
	free(tree->indent);
	stacktree_release(&tree->stacks);
	frames_release(&tree->frames);
	view_release(&tree->view);
	return view_finish();
}

int cmd_tree(int argc, char **argv)
{
	struct tree tree = {.min_share = -1};
	const struct arg_row rows[] = {
		{"min-share", 0, ARG_PERCENT, "PERCENT",
		 "hide branches below this share (default 0.5%; with --json\n"
		 "0)",
		 &tree.min_share},
		{"depth", 0, ARG_COUNT, "N", "show at most N frames from the root", &tree.depth},
		VIEW_ROWS(&tree.view),
	};
	struct args args scoped(args_release) = {
		.command = "tree",
		.operands = "[FILE...]",
		.needs_file = true,
		.takes_newest = true,
		.about = "Print the call tree of a profile, indented from the root. A frame with "
			 "the same value\n"
			 "as its caller is not indented further. Several files are merged; - is "
			 "stdin.",
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog = "Exit codes: 0 success, 2 usage error or a file cannot be read.",
	};
	enum exit_code code;

	return args_begin(&args, argc, argv, &code) ? show(&tree, &args.operand) : code;
}
