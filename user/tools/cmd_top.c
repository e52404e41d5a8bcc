// SPDX-License-Identifier: BSD-2-Clause
/* cprof top: where the values are, by function, line, file, mapping or address. */
#include "cmd.h"

#include <stdio.h>

#include "tools/newest.h"
#include "tools/reading.h"
#include "tools/view.h"

struct top {
	struct view view;
	bool cum;
	uint32_t limit;
	struct summary summary;
};

static const struct summary_node *row_at(const struct top *top, size_t i)
{
	return &top->summary.nodes[top->cum ? top->summary.by_cum[i] : i];
}

/* "(inline)": wherever it was seen, it was inlined into its caller; "(partial-inline)": somewhere. */
static const char *inlining(const struct summary_node *node)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < node->nr_callers; i++)
		nr += node->callers[i].is_inline;
	if (!nr)
		return "";
	return nr == node->nr_callers ? " (inline)" : " (partial-inline)";
}

static void print_row(const struct top *top, const struct summary_node *node, int64_t sum)
{
	const struct view *view = &top->view;
	char flat[UNIT_TEXT_BYTES], cum[UNIT_TEXT_BYTES];
	char shares[3][UNIT_TEXT_BYTES];
	char *name scoped(freep) = view_frame_name(&top->view, node->frame);

	printf("%s%10s %s%s %s %10s %s  %s%s\n", view_colour(view, node->flat),
	       view_value(view, node->flat, flat), view_share(view, node->flat, shares[0]),
	       view_plain(view), view_share(view, sum, shares[1]), view_value(view, node->cum, cum),
	       view_share(view, node->cum, shares[2]), name, inlining(node));
}

static void print_table(struct top *top)
{
	struct view *view = &top->view;
	char shown_text[UNIT_TEXT_BYTES], total[UNIT_TEXT_BYTES], share[UNIT_TEXT_BYTES];
	const char *share_text;
	int64_t shown = 0, sum = 0;
	size_t nr = view_nr_shown(view, top->limit, top->summary.nr);

	view_choose_unit(view, view_smallest(&top->summary));
	view_print_head(view);
	for (size_t i = 0; i < nr; i++)
		shown = profile_sum(shown, row_at(top, i)->flat);
	share_text = view_share(view, shown, share);
	while (*share_text == ' ')
		share_text++;
	printf("Showing %zu of %zu rows, %s, %s of %s total\n", nr, top->summary.nr,
	       view_value(view, shown, shown_text), share_text,
	       view_value(view, view->selection.total, total));
	if (top->summary.unplaced)
		printf("Not in any row (samples without a stack): %s\n",
		       view_value(view, top->summary.unplaced, total));
	printf("%10s %5s%% %5s%% %10s %5s%%\n", "flat", "flat", "sum", "cum", "cum");
	for (size_t i = 0; i < nr; i++) {
		const struct summary_node *node = row_at(top, i);

		sum = profile_sum(sum, node->flat);
		print_row(top, node, sum);
	}
}

static void print_json(const struct top *top)
{
	struct json json;
	size_t nr = view_nr_shown(&top->view, top->limit, top->summary.nr);

	view_begin_json(&top->view, "top", &json);
	json_key(&json, "nr_rows"), json_uint(&json, top->summary.nr);
	json_key(&json, "rows"), json_array(&json);
	for (size_t i = 0; i < nr; i++) {
		const struct summary_node *node = row_at(top, i);

		json_object(&json);
		view_put_frame(&json, node->frame);
		json_key(&json, "flat"), json_int(&json, node->flat);
		json_key(&json, "cum"), json_int(&json, node->cum);
		json_end(&json);
	}
	json_end(&json);
	view_end_json(&json);
}

static enum exit_code show(struct top *top, const struct arg_list *paths)
{
	if (view_open(&top->view, paths, true))
		return EXIT_USAGE;
	summary_make(top->view.profile, top->view.type, top->view.by, &top->summary);
	if (top->view.json)
		print_json(top);
	else
		print_table(top);
	summary_release(&top->summary);
	view_release(&top->view);
	return EXIT_DONE;
}

int cmd_top(int argc, char **argv)
{
	struct top top = {.limit = VIEW_DEFAULT_LIMIT};
	struct reading reading = {.no_sandbox = false};
	const struct arg_row rows[] = {
		{"cum", 'c', ARG_FLAG, NULL, "sort by cum, not by flat", &top.cum},
		VIEW_LIMIT_ROW(&top.limit),
		VIEW_ROWS(&top.view),
		READING_ROWS(&reading),
	};
	struct args args scoped(args_release) = {
		.command = "top",
		.operands = "[FILE...]",
		.needs_file = true,
		.implied = &newest_operand,
		.about = "List where the values of a profile are: in each function (flat), and in "
			 "it and its "
			 "callees (cum). Several files are merged; - is stdin.",
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog = "Exit codes: 0 success, 2 usage error or a file cannot be read.",
	};
	enum exit_code code;

	return reading_begin(&reading, &args, argc, argv, &code) ? show(&top, &args.operand) : code;
}
