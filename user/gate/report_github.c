// SPDX-License-Identifier: BSD-2-Clause
#include "gate/phrase.h"
#include "gate/report.h"

static void put_regression(struct writing *writing, const struct gate_result *result,
			   const struct report_options *options, const struct gate_test *test)
{
	const char *path = source_path(options, test);

	writing_put(writing, "::error ");
	if (path) {
		writing_put(writing, "file=");
		writing_escaped(writing, ESCAPE_PROPERTY, path);
		if (test->function->line)
			writing_put(writing, ",line=%ld", test->function->line);
		writing_put(writing, ",");
	}
	writing_put(writing, "title=");
	writing_escaped(writing, ESCAPE_PROPERTY, phrase_name(test).text);
	writing_put(writing, " got slower or larger::");
	writing_escaped(writing, ESCAPE_COMMAND, phrase_name(test).text);
	writing_put(writing, ": ");
	writing_escaped(writing, ESCAPE_COMMAND, phrase_change(result, test).text);
	writing_put(writing, "\n");
}

int report_github(const struct gate_result *result, const struct report_options *options,
		  json_sink_fn sink, void *ctx)
{
	struct writing writing = {.sink = sink, .ctx = ctx};
	size_t nr = 0;

	vec_for_each(&result->reasons, reason) {
		if (nr++ == REPORT_MAX_ANNOTATIONS)
			break;
		writing_put(&writing, "::error title=cprof check is inconclusive::");
		writing_escaped(&writing, ESCAPE_COMMAND, *reason);
		writing_put(&writing, "\n");
	}
	vec_for_each(&result->rows, row) {
		if ((*row)->outcome != GATE_REGRESSED || nr++ >= REPORT_MAX_ANNOTATIONS)
			break;
		put_regression(&writing, result, options, *row);
	}
	return writing.err;
}
