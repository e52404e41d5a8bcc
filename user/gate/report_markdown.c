// SPDX-License-Identifier: BSD-2-Clause
/* A verdict as Markdown, for the summary of a CI job. */
#include "gate/phrase.h"
#include "gate/report.h"

#define MAX_ROWS 50 /* of 1 KiB at most: far from GitHub's 1 MiB */

static void put_cell(struct text_out *out, struct phrase phrase)
{
	text_out_print(out, "| ");
	put_escaped(out, ESCAPE_MARKDOWN, phrase.text);
	text_out_print(out, " ");
}

static void put_row(struct text_out *out, const struct gate_result *result,
		    const struct gate_test *test)
{
	static const char *const marks[] = {
		[GATE_REGRESSED] = ":x:",
		[GATE_MOVED] = ":twisted_rightwards_arrows:",
		[GATE_UNCONFIRMED] = ":grey_question:",
		[GATE_IMPROVED] = ":white_check_mark:",
		[GATE_SAME] = "",
	};

	put_cell(out, phrase_name(test));
	put_cell(out, phrase_subject(test));
	put_cell(out, phrase_value(result, test, test->stats.base));
	put_cell(out, phrase_value(result, test, test->stats.head));
	put_cell(out, phrase_growth(test));
	put_cell(out, phrase_interval(test));
	put_cell(out, phrase_p(test));
	text_out_print(out, "| %s %s", marks[test->outcome], gate_outcome_name(test->outcome));
	if (test->moved_from) {
		text_out_print(out, " from ");
		put_escaped(out, ESCAPE_MARKDOWN,
			    phrase_name(&(struct gate_test){.function = test->moved_from}).text);
	}
	text_out_print(out, " |\n");
}

static void put_moves(struct text_out *out, const struct gate_result *result)
{
	for (size_t i = 0; i < result->moves.nr && i < MAX_ROWS; i++) {
		char *rename scoped(freep) = phrase_rename(&result->moves.at[i]);

		text_out_print(out, "- ");
		put_escaped(out, ESCAPE_MARKDOWN, phrase_move(&result->moves.at[i]).text);
		if (rename) {
			text_out_print(out, ", probably; to confirm it: ");
			put_escaped(out, ESCAPE_MARKDOWN, rename);
		}
		text_out_print(out, "\n");
	}
	if (result->moves.nr)
		text_out_print(out, "\n");
}

int report_markdown(const struct gate_result *result, const struct report_options *options,
		    sink_fn sink, void *ctx)
{
	struct text_out out;
	size_t nr = 0;

	(void)options;
	text_out_open(&out, sink, ctx);
	text_out_print(&out, "### cprof check: %s\n\n", gate_verdict_name(result->verdict));
	put_escaped(&out, ESCAPE_MARKDOWN, phrase_runs(result).text);
	text_out_print(&out, "\n\n");
	if (result->is_weak)
		text_out_print(&out, "- weak: one run per side is little evidence\n");
	vec_for_each(&result->reasons, reason) {
		text_out_print(&out, "- inconclusive: ");
		put_escaped(&out, ESCAPE_MARKDOWN, *reason);
		text_out_print(&out, "\n");
	}
	if (result->verdict == GATE_INCONCLUSIVE) {
		put_escaped(&out, ESCAPE_MARKDOWN, "\n" PHRASE_INCONCLUSIVE);
		text_out_print(&out, "\n\n");
	}
	put_moves(&out, result);
	if (result->rows.nr) {
		text_out_print(&out, "| function | measure | base | head | change | 95 %% interval "
				     "| adjusted p | verdict |\n"
				     "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
		vec_for_each(&result->rows, row)
			if (!gate_is_everywhere(result, *row) && nr++ < MAX_ROWS)
				put_row(&out, result, *row);
		if (nr > MAX_ROWS)
			text_out_print(&out, "\n%zu more did not change, or changed less.\n",
				       nr - MAX_ROWS);
		text_out_print(&out, "\n");
		put_escaped(&out, ESCAPE_MARKDOWN, phrase_detectable(result).text);
		text_out_print(&out, "\n");
	}
	text_out_print(&out, "\n");
	return text_out_close(&out);
}
