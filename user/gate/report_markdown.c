// SPDX-License-Identifier: BSD-2-Clause
#include "gate/phrase.h"
#include "gate/report.h"

#define MAX_ROWS 50 /* of 1 KiB at most: far from GitHub's 1 MiB */

static void put_cell(struct writing *writing, struct phrase phrase)
{
	writing_put(writing, "| ");
	writing_escaped(writing, ESCAPE_MARKDOWN, phrase.text);
	writing_put(writing, " ");
}

static void put_row(struct writing *writing, const struct gate_result *result,
		    const struct gate_test *test)
{
	static const char *const marks[] = {
		[GATE_REGRESSED] = ":x:",
		[GATE_MOVED] = ":twisted_rightwards_arrows:",
		[GATE_UNCONFIRMED] = ":grey_question:",
		[GATE_IMPROVED] = ":white_check_mark:",
		[GATE_SAME] = "",
	};

	put_cell(writing, phrase_name(test));
	put_cell(writing, phrase_subject(test));
	put_cell(writing, phrase_value(result, test, test->stats.base));
	put_cell(writing, phrase_value(result, test, test->stats.head));
	put_cell(writing, phrase_growth(test));
	put_cell(writing, phrase_interval(test));
	put_cell(writing, phrase_p(test));
	writing_put(writing, "| %s %s |\n", marks[test->outcome], gate_outcome_name(test->outcome));
}

int report_markdown(const struct gate_result *result, const struct report_options *options,
		    json_sink_fn sink, void *ctx)
{
	struct writing writing = {.sink = sink, .ctx = ctx};
	size_t nr = result->rows.nr < MAX_ROWS ? result->rows.nr : MAX_ROWS;

	(void)options;
	writing_put(&writing, "### cprof check: %s\n\n", gate_verdict_name(result->verdict));
	writing_escaped(&writing, ESCAPE_MARKDOWN, phrase_runs(result).text);
	writing_put(&writing, "\n\n");
	if (result->is_weak)
		writing_put(&writing, "- weak: one run a side tells little\n");
	vec_for_each(&result->reasons, reason) {
		writing_put(&writing, "- inconclusive: ");
		writing_escaped(&writing, ESCAPE_MARKDOWN, *reason);
		writing_put(&writing, "\n");
	}
	if (nr) {
		writing_put(&writing,
			    "| function | measure | base | head | change | 95 %% interval "
			    "| adjusted p | verdict |\n"
			    "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
		for (size_t i = 0; i < nr; i++)
			put_row(&writing, result, result->rows.at[i]);
		if (nr < result->rows.nr)
			writing_put(&writing, "\n%zu more did not change or changed less.\n",
				    result->rows.nr - nr);
		writing_put(&writing, "\n");
		writing_escaped(&writing, ESCAPE_MARKDOWN, phrase_detectable(result).text);
		writing_put(&writing, "\n");
	}
	writing_put(&writing, "\n");
	return writing.err;
}
