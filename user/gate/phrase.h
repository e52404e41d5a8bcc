/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words and numbers that all reports share, and the escaping of each report's format.
 */
#ifndef CPROF_GATE_PHRASE_H
#define CPROF_GATE_PHRASE_H

#include "base/textout.h"
#include "gate/report.h"

/* How to change the exit code, besides the advice of each reason. */
#define PHRASE_INCONCLUSIVE "exit code 3; --inconclusive pass turns it into 0"

/* A short text, returned by value, so that one call can use several. */
struct phrase {
	char text[256];
};

/* A rate of the test's quantity and unit: "12.3 %", "1.204 s", "5.2 MB". */
struct phrase phrase_value(const struct gate_result *result, const struct gate_test *test,
			   double value);
struct phrase phrase_growth(const struct gate_test *test);   /* "+12.3 %", "new" */
struct phrase phrase_interval(const struct gate_test *test); /* "+10.1 .. +14.4 %" */
struct phrase phrase_p(const struct gate_test *test);	     /* "0.0012", "<1e-9" */
struct phrase phrase_name(const struct gate_test *test);     /* the function, shortened; "total" */
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
 * "--rename 'parse=parse_fast'", for a move that may be a coincidence; the caller frees it. NULL: the move
 * is certain, or both functions still exist.
 */
char *phrase_rename(const struct gate_move *move);

enum escape {
	ESCAPE_NONE, /* only what put_escaped() always does */
	ESCAPE_XML,
	ESCAPE_MARKDOWN,
	ESCAPE_COMMAND,	 /* the text of a workflow command */
	ESCAPE_PROPERTY, /* the value of one of its properties */
};

/* Writes text of any length, as valid UTF-8 without control characters, escaped for the format. */
void put_escaped(struct text_out *out, enum escape escape, const char *text);

/* The path of the function's source without the root; NULL: it is not known. */
const char *source_path(const struct report_options *options, const struct gate_test *test);

#endif
