// SPDX-License-Identifier: BSD-2-Clause
/* A verdict as JUnit test cases, one for each function tested. */
#include "gate/phrase.h"
#include "gate/report.h"

static void put_case(struct text_out *out, const struct gate_result *result,
		     const struct gate_test *test)
{
	text_out_print(out, "    <testcase classname=\"cprof.");
	put_escaped(out, ESCAPE_XML, result->runs->type);
	text_out_print(out, "\" name=\"");
	put_escaped(out, ESCAPE_XML, phrase_name(test).text);
	text_out_print(out, "\" time=\"0\"");
	if (test->moved_from) {
		text_out_print(out, ">\n      <system-out>moved from ");
		put_escaped(out, ESCAPE_XML,
			    phrase_name(&(struct gate_test){.function = test->moved_from}).text);
		text_out_print(out, "</system-out>\n    </testcase>\n");
		return;
	}
	if (test->outcome != GATE_REGRESSED) {
		text_out_print(out, "/>\n");
		return;
	}
	text_out_print(out, ">\n      <failure type=\"regression\" message=\"");
	put_escaped(out, ESCAPE_XML, phrase_growth(test).text);
	text_out_print(out, "\">");
	put_escaped(out, ESCAPE_XML, phrase_change(result, test).text);
	text_out_print(out, "</failure>\n    </testcase>\n");
}

/* What was refused is one case in error: a suite without cases would pass. */
static void put_refusal(struct text_out *out, const struct gate_result *result)
{
	text_out_print(out, "    <testcase classname=\"cprof\" name=\"comparison\" time=\"0\">\n"
			    "      <error type=\"inconclusive\" message=\"inconclusive\">");
	vec_for_each(&result->reasons, reason) {
		put_escaped(out, ESCAPE_XML, *reason);
		text_out_print(out, "\n");
	}
	put_escaped(out, ESCAPE_XML, PHRASE_INCONCLUSIVE);
	text_out_print(out, "\n</error>\n    </testcase>\n");
}

int report_junit(const struct gate_result *result, const struct report_options *options,
		 sink_fn sink, void *ctx)
{
	struct text_out out;
	size_t nr_failures = 0, nr_errors = result->reasons.nr > 0, nr = nr_errors;

	(void)options;
	text_out_open(&out, sink, ctx);
	vec_for_each(&result->rows, row) {
		nr += !gate_is_everywhere(result, *row);
		nr_failures += gate_is_finding(result, *row);
	}
	text_out_print(
		&out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n"
		"  <testsuite name=\"cprof check\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
		"skipped=\"0\" time=\"0\">\n",
		nr, nr_failures, nr_errors, nr, nr_failures, nr_errors);
	if (nr_errors)
		put_refusal(&out, result);
	vec_for_each(&result->rows, row)
		if (!gate_is_everywhere(result, *row))
			put_case(&out, result, *row);
	text_out_print(&out, "  </testsuite>\n</testsuites>\n");
	return text_out_close(&out);
}
