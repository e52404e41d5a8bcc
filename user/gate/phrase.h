/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words and numbers that all reports share, and text that is escaped for a report's format.
 */
#ifndef CPROF_GATE_PHRASE_H
#define CPROF_GATE_PHRASE_H

#include "base/textout.h"
#include "gate/report.h"

/* What there is to do, besides the remedy of each reason. */
#define PHRASE_INCONCLUSIVE "exit code 3; --inconclusive pass turns it into 0"

/* Short texts by value, so that several fit into one call. */
struct phrase {
	char text[256];
};

/* A rate of the test's quantity and unit: "12.3 %", "1.204 s", "5.2 MB". */
struct phrase phrase_value(const struct gate_result *result, const struct gate_test *test,
			   double value);
struct phrase phrase_growth(const struct gate_test *test);   /* "+12.3 %", "new" */
struct phrase phrase_interval(const struct gate_test *test); /* "+10.1 .. +14.4 %" */
struct phrase phrase_p(const struct gate_test *test);	     /* "0.0012", "<1e-9" */
struct phrase phrase_name(const struct gate_test *test);     /* of the function, cut; "total" */
struct phrase phrase_subject(const struct gate_test *test);  /* "flat share", "cum per run" */
/* "smallest detectable change: ..." */
struct phrase phrase_detectable(const struct gate_result *result);
/* "a head run is 1.33 times as large as a base run, by its typical function: ...", where shares are compared */
struct phrase phrase_size(const struct gate_result *result);
/* "5 base runs (12,000 samples) and ..." */
struct phrase phrase_runs(const struct gate_result *result);
/* One sentence on a test: "flat share of hot_a grew by ...". */
struct phrase phrase_change(const struct gate_result *result, const struct gate_test *test);

struct phrase phrase_move(const struct gate_move *move); /* "parse is now parse_fast (moved)" */
/*
 * "--rename 'parse=parse_fast'", in full, for a move that may be chance; the caller frees it. NULL: it
 * is certain, or both functions are still there.
 */
char *phrase_rename(const struct gate_move *move);

enum escape {
	ESCAPE_NONE, /* only made safe */
	ESCAPE_XML,
	ESCAPE_MARKDOWN,
	ESCAPE_COMMAND,	 /* the text of a workflow command */
	ESCAPE_PROPERTY, /* the value of one of its properties */
};

/* Of any length; made valid UTF-8 without control characters first. */
void put_escaped(struct text_out *out, enum escape escape, const char *text);

/* The path of the function's source without the root, or NULL where there is none. */
const char *source_path(const struct report_options *options, const struct gate_test *test);

#endif
