// SPDX-License-Identifier: BSD-2-Clause
/* A verdict as a table for people. */
#include <string.h>

#include "base/alloc.h"
#include "gate/phrase.h"
#include "gate/report.h"

#define MAX_SAME 10 /* rows that did not change, but with options.all */

static bool is_shown(const struct gate_result *result, const struct report_options *options,
		     const struct gate_test *test, size_t *nr_same)
{
	if (options->all || !test->function)
		return true;
	if (gate_is_everywhere(result, test))
		return false;
	if (test->outcome != GATE_SAME)
		return true;
	return (*nr_same)++ < MAX_SAME;
}

static void put_row(struct text_out *out, const struct gate_result *result,
		    const struct gate_test *test)
{
	struct phrase base = phrase_value(result, test, test->stats.base);
	struct phrase head = phrase_value(result, test, test->stats.head);
	struct phrase from = {""};

	if (test->moved_from)
		from = phrase_name(&(struct gate_test){.function = test->moved_from});
	text_out_print(out, "%-11s %-13s %12s %12s %9s %19s %8s  %s%s%s%s\n",
		       gate_outcome_name(test->outcome), phrase_subject(test).text, base.text,
		       head.text, phrase_growth(test).text, phrase_interval(test).text,
		       phrase_p(test).text, phrase_name(test).text,
		       test->moved_from ? " (moved from " : "", from.text,
		       test->moved_from ? ")" : "");
}

static void put_table(struct text_out *out, const struct gate_result *result,
		      const struct report_options *options)
{
	size_t nr_same = 0;

	text_out_print(out, "%-11s %-13s %12s %12s %9s %19s %8s  %s\n", "verdict", "measure",
		       "base", "head", "change", "95 % interval", "adj. p", "name");
	vec_for_each(&result->rows, row)
		if (is_shown(result, options, *row, &nr_same))
			put_row(out, result, *row);
	if (nr_same > MAX_SAME)
		text_out_print(out, "(and %zu more that did not change)\n", nr_same - MAX_SAME);
}

static void put_moves(struct text_out *out, const struct gate_result *result)
{
	vec_for_each(&result->moves, move) {
		char *rename scoped(freep) = phrase_rename(move);

		text_out_print(out, "%s", phrase_move(move).text);
		if (rename)
			text_out_print(out, ", probably; to confirm it: ");
		if (rename)
			put_escaped(out, ESCAPE_NONE, rename);
		text_out_print(out, "\n");
	}
}

int report_text(const struct gate_result *result, const struct report_options *options,
		sink_fn sink, void *ctx)
{
	struct text_out out;

	text_out_open(&out, sink, ctx);
	text_out_print(&out, "%s\n", phrase_runs(result).text);
	if (result->tests.nr) {
		put_table(&out, result, options);
		put_moves(&out, result);
		if (!result->options.no_share)
			text_out_print(&out, "%s\n", phrase_size(result).text);
		text_out_print(&out, "%s\n", phrase_detectable(result).text);
	}
	if (result->is_weak)
		text_out_print(
			&out,
			"weak: the variation between runs was assumed (%g %%), not measured\n",
			100 * GATE_ASSUMED_CV);
	vec_for_each(&result->reasons, reason)
		text_out_print(&out, "inconclusive: %s\n", *reason);
	if (result->verdict == GATE_INCONCLUSIVE)
		text_out_print(&out, "%s\n", PHRASE_INCONCLUSIVE);
	text_out_print(&out, "verdict: %s\n", gate_verdict_name(result->verdict));
	return text_out_close(&out);
}
