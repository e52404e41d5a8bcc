// SPDX-License-Identifier: BSD-2-Clause
#include "gate/phrase.h"
#include "gate/report.h"

static void put_case(struct writing *writing, const struct gate_result *result,
		     const struct gate_test *test)
{
	writing_put(writing, "    <testcase classname=\"cprof.");
	writing_escaped(writing, ESCAPE_XML, result->runs->type);
	writing_put(writing, "\" name=\"");
	writing_escaped(writing, ESCAPE_XML, phrase_name(test).text);
	writing_put(writing, "\" time=\"0\"");
	if (test->outcome != GATE_REGRESSED) {
		writing_put(writing, "/>\n");
		return;
	}
	writing_put(writing, ">\n      <failure type=\"regression\" message=\"");
	writing_escaped(writing, ESCAPE_XML, phrase_growth(test).text);
	writing_put(writing, "\">");
	writing_escaped(writing, ESCAPE_XML, phrase_change(result, test).text);
	writing_put(writing, "</failure>\n    </testcase>\n");
}

/* What was refused is one case in error: a suite without cases would pass. */
static void put_refusal(struct writing *writing, const struct gate_result *result)
{
	writing_put(writing, "    <testcase classname=\"cprof\" name=\"comparison\" time=\"0\">\n"
			     "      <error type=\"inconclusive\" message=\"inconclusive\">");
	vec_for_each(&result->reasons, reason) {
		writing_escaped(writing, ESCAPE_XML, *reason);
		writing_put(writing, "\n");
	}
	writing_put(writing, "</error>\n    </testcase>\n");
}

int report_junit(const struct gate_result *result, const struct report_options *options,
		 json_sink_fn sink, void *ctx)
{
	struct writing writing = {.sink = sink, .ctx = ctx};
	size_t nr_failures = 0, nr_errors = result->reasons.nr > 0;
	size_t nr = result->rows.nr + nr_errors;

	(void)options;
	vec_for_each(&result->rows, row)
		nr_failures += (*row)->outcome == GATE_REGRESSED;
	writing_put(
		&writing,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n"
		"  <testsuite name=\"cprof check\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
		"skipped=\"0\" time=\"0\">\n",
		nr, nr_failures, nr_errors, nr, nr_failures, nr_errors);
	if (nr_errors)
		put_refusal(&writing, result);
	vec_for_each(&result->rows, row)
		put_case(&writing, result, *row);
	writing_put(&writing, "  </testsuite>\n</testsuites>\n");
	return writing.err;
}
