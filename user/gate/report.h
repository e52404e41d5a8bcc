/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the result of a comparison through a sink:
 *
 *	text		a table, worst first
 *	json		everything, with "verdict"; RFC 8259
 *	markdown	for a job's summary (GitHub renders at most 1 MiB): a table of at most 50 rows
 *	github		workflow commands, ::error file=...,line=...::..., at most 10 (GitHub shows no
 *			more of a step), worst first
 *	junit		a test case for each function that was tested
 *	sarif		2.1.0, for code scanning: a result for each regression, matched between runs by
 *			the function, not by its line
 *
 * Moved cost is not a finding: text, json, markdown and junit say so, github with a ::notice, sarif with a note
 * of the invocation.
 *
 * Names come from profiles: each writer escapes what its format cannot hold. Errors are those of the sink.
 *
 * Sources: GitHub's "workflow commands" (escaping: actions/toolkit, command.ts); the JUnit schema of
 * Jenkins' xunit plugin; OASIS SARIF 2.1.0, sections 3.13-3.28; XML 1.0, 2.2.
 */
#ifndef CPROF_GATE_REPORT_H
#define CPROF_GATE_REPORT_H

#include "base/textout.h"
#include "gate/verdict.h"

#define REPORT_MAX_ANNOTATIONS 10

struct report_options {
	const char *source_root; /* removed from the beginning of source paths; NULL: nothing is */
	bool all;		 /* text: every function that was tested, not only the largest */
};

typedef int (*report_fn)(const struct gate_result *result, const struct report_options *options,
			 sink_fn sink, void *ctx);

/* Each writes one whole document. 0, or the -errno of the sink. Borrows all for the call only. */
int report_text(const struct gate_result *result, const struct report_options *options,
		sink_fn sink, void *ctx);
int report_json(const struct gate_result *result, const struct report_options *options,
		sink_fn sink, void *ctx);
int report_markdown(const struct gate_result *result, const struct report_options *options,
		    sink_fn sink, void *ctx);
int report_github(const struct gate_result *result, const struct report_options *options,
		  sink_fn sink, void *ctx);
int report_junit(const struct gate_result *result, const struct report_options *options,
		 sink_fn sink, void *ctx);
int report_sarif(const struct gate_result *result, const struct report_options *options,
		 sink_fn sink, void *ctx);

#endif
