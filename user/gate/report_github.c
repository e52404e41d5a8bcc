// SPDX-License-Identifier: BSD-2-Clause
/* A verdict as annotations of GitHub Actions (workflow commands). */
#include "gate/phrase.h"
#include "gate/report.h"

static void put_regression(struct text_out *out, const struct gate_result *result,
			   const struct report_options *options, const struct gate_test *test)
{
	const char *path = source_path(options, test);

	text_out_print(out, "::error ");
	if (path) {
		text_out_print(out, "file=");
		put_escaped(out, ESCAPE_PROPERTY, path);
		if (test->function->line)
			text_out_print(out, ",line=%ld", test->function->line);
		text_out_print(out, ",");
	}
	text_out_print(out, "title=");
	put_escaped(out, ESCAPE_PROPERTY, phrase_name(test).text);
	text_out_print(out, " got slower or larger::");
	put_escaped(out, ESCAPE_COMMAND, phrase_name(test).text);
	text_out_print(out, ": ");
	put_escaped(out, ESCAPE_COMMAND, phrase_change(result, test).text);
	text_out_print(out, "\n");
}

/* GitHub counts notices by themselves. */
static void put_moves(struct text_out *out, const struct gate_result *result)
{
	for (size_t i = 0; i < result->moves.nr && i < REPORT_MAX_ANNOTATIONS; i++) {
		const struct gate_move *move = &result->moves.at[i];
		char *rename scoped(freep) = phrase_rename(move);

		text_out_print(out, "::notice title=");
		put_escaped(out, ESCAPE_PROPERTY, phrase_move(move).text);
		text_out_print(out, "::");
		put_escaped(out, ESCAPE_COMMAND,
			    rename ? "probably no regression; to confirm it: "
				   : "no regression: another function had this cost before");
		put_escaped(out, ESCAPE_COMMAND, rename ? rename : "");
		text_out_print(out, "\n");
	}
}

int report_github(const struct gate_result *result, const struct report_options *options,
		  sink_fn sink, void *ctx)
{
	struct text_out out;
	size_t nr = 0;

	text_out_open(&out, sink, ctx);
	vec_for_each(&result->reasons, reason) {
		if (nr++ == REPORT_MAX_ANNOTATIONS)
			break;
		text_out_print(&out, "::error title=cprof check is inconclusive::");
		put_escaped(&out, ESCAPE_COMMAND, *reason);
		put_escaped(&out, ESCAPE_COMMAND, " (" PHRASE_INCONCLUSIVE ")");
		text_out_print(&out, "\n");
	}
	vec_for_each(&result->rows, row) {
		if (!gate_is_finding(result, *row))
			continue;
		if (nr++ >= REPORT_MAX_ANNOTATIONS)
			break;
		put_regression(&out, result, options, *row);
	}
	put_moves(&out, result);
	return text_out_close(&out);
}
