// SPDX-License-Identifier: BSD-2-Clause
/* cprof peek: a function's callers and callees. */
#include "cmd.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "tools/newest.h"
#include "tools/reading.h"
#include "tools/view.h"

#define RULE "----------------------------------------------------------+-------------"

struct peek {
	struct view view;
	bool cum;
	regex_t regex;
	struct summary summary;
};

static bool matches(const struct peek *peek, const struct summary_node *node)
{
	return !regexec(&peek->regex, node->frame->name, 0, NULL, 0);
}

/* other: the end of the edge that is not node. */
static void print_edge(const struct peek *peek, const struct summary_node *node,
		       const struct summary_edge *edge, uint32_t other)
{
	char value[UNIT_TEXT_BYTES], share[UNIT_TEXT_BYTES];
	char *name scoped(freep) = view_frame_name(&peek->view, peek->summary.nodes[other].frame);

	printf("%50s %s |   %s%s\n", view_value(&peek->view, edge->value, value),
	       unit_share(edge->value, node->cum, share), name, edge->is_inline ? " (inline)" : "");
}

static void print_node(const struct peek *peek, const struct summary_node *node, int64_t sum)
{
	const struct view *view = &peek->view;
	char flat[UNIT_TEXT_BYTES], cum[UNIT_TEXT_BYTES], shares[3][UNIT_TEXT_BYTES];
	char *name scoped(freep) = view_frame_name(&peek->view, node->frame);

	puts(RULE);
	for (uint32_t i = 0; i < node->nr_callers; i++)
		print_edge(peek, node, &node->callers[i], node->callers[i].caller);
	printf("%s%10s %s %s %10s %s                | %s%s\n", view_colour(view, node->cum),
	       view_value(view, node->flat, flat), view_share(view, node->flat, shares[0]),
	       view_share(view, sum, shares[1]), view_value(view, node->cum, cum),
	       view_share(view, node->cum, shares[2]), name, view_plain(view));
	for (uint32_t i = 0; i < node->nr_callees; i++)
		print_edge(peek, node, &node->callees[i], node->callees[i].callee);
}

static const struct summary_node *node_at(const struct peek *peek, size_t i)
{
	return &peek->summary.nodes[peek->cum ? peek->summary.by_cum[i] : i];
}

static void print_text(struct peek *peek)
{
	int64_t sum = 0;

	view_choose_unit(&peek->view, view_smallest(&peek->summary));
	view_print_head(&peek->view);
	puts(RULE);
	puts("      flat  flat%   sum%        cum   cum%   calls calls% + context");
	for (size_t i = 0; i < peek->summary.nr; i++) {
		const struct summary_node *node = node_at(peek, i);

		if (!matches(peek, node))
			continue;
		sum = profile_sum(sum, node->flat);
		print_node(peek, node, sum);
	}
	puts(RULE);
}

static void put_edge(const struct peek *peek, struct json *json, const struct summary_edge *edge,
		     uint32_t other)
{
	json_object(json);
	view_put_frame(json, peek->summary.nodes[other].frame);
	json_key(json, "value"), json_int(json, edge->value);
	json_key(json, "inline"), json_bool(json, edge->is_inline);
	json_end(json);
}

static void put_node(const struct peek *peek, struct json *json, const struct summary_node *node)
{
	json_object(json);
	view_put_frame(json, node->frame);
	json_key(json, "flat"), json_int(json, node->flat);
	json_key(json, "cum"), json_int(json, node->cum);
	json_key(json, "callers"), json_array(json);
	for (uint32_t i = 0; i < node->nr_callers; i++)
		put_edge(peek, json, &node->callers[i], node->callers[i].caller);
	json_end(json);
	json_key(json, "callees"), json_array(json);
	for (uint32_t i = 0; i < node->nr_callees; i++)
		put_edge(peek, json, &node->callees[i], node->callees[i].callee);
	json_end(json);
	json_end(json);
}

static void print_json(const struct peek *peek)
{
	struct json json;

	view_begin_json(&peek->view, "peek", &json);
	json_key(&json, "rows"), json_array(&json);
	for (size_t i = 0; i < peek->summary.nr; i++)
		if (matches(peek, node_at(peek, i)))
			put_node(peek, &json, node_at(peek, i));
	json_end(&json);
	view_end_json(&json);
}

static enum exit_code show(struct peek *peek, const char *pattern)
{
	enum exit_code code;
	size_t nr = 0;

	summary_make(peek->view.profile, peek->view.type, peek->view.by, &peek->summary);
	for (size_t i = 0; i < peek->summary.nr; i++)
		nr += matches(peek, &peek->summary.nodes[i]);
	if (peek->view.json)
		print_json(peek);
	else if (nr)
		print_text(peek);
	code = EXIT_DONE;
	if (!nr) {
		warn("no %s matches '%s'.", peek->view.by_text ? peek->view.by_text : "function",
		     pattern);
		code = EXIT_NOTHING;
	}
	summary_release(&peek->summary);
	view_release(&peek->view);
	return code;
}

/* REGEX FILE..., or REGEX alone, and then it is not the name of a file. */
static bool has_operands(struct args *args)
{
	if (args->operand.nr > 1 ||
	    (args->operand.nr && access(args->operand.at[0], F_OK) && args_imply(args)))
		return true;
	warn("no REGEX given: use cprof peek REGEX [FILE...] (see cprof peek --help).");
	return false;
}

static enum exit_code open_and_show(struct peek *peek, const struct reading *reading,
				    struct args *args)
{
	struct arg_list paths;
	const char *pattern;
	enum exit_code code;

	if (!has_operands(args))
		return EXIT_USAGE;
	code = reading_confine(reading, args, false);
	if (code)
		return code;
	paths = (struct arg_list){.at = args->operand.at + 1, .nr = args->operand.nr - 1};
	pattern = args->operand.at[0];
	if (argtype_regex("REGEX", pattern, &peek->regex))
		return EXIT_USAGE;
	code = view_open(&peek->view, &paths, false) ? EXIT_USAGE : show(peek, pattern);
	regfree(&peek->regex);
	return code;
}

int cmd_peek(int argc, char **argv)
{
	struct peek peek = {.cum = false};
	struct reading reading = {.no_sandbox = false};
	const struct arg_row rows[] = {
		{"cum", 'c', ARG_FLAG, NULL, "sort by cum, not by flat", &peek.cum},
		VIEW_ROWS(&peek.view),
		READING_ROWS(&reading),
	};
	struct args args scoped(args_release) = {
		.command = "peek",
		.operands = "REGEX [FILE...]",
		.implied = &newest_operand,
		.about = "Print the functions whose name matches, with their callers above and "
			 "callees below. "
			 "Several files are merged; - is stdin.",
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog = "Exit codes: 0 success, 2 usage error or a file cannot be read, 3 no "
			  "match.",
	};
	enum exit_code code;

	return args_begin(&args, argc, argv, &code) ? open_and_show(&peek, &reading, &args) : code;
}
