/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part that check and bench share: the options of a comparison, adding runs from profiles, writing
 * the reports, and the exit code.
 */
#ifndef CPROF_TOOLS_GATING_H
#define CPROF_TOOLS_GATING_H

#include "exit.h"
#include "gate/report.h"
#include "gate/runs.h"
#include "gate/verdict.h"
#include "cli/args.h"
#include "tools/selection.h"

enum gating_file { /* the reports that can go to a FILE */
	GATING_JSON,
	GATING_MARKDOWN,
	GATING_JUNIT,
	GATING_SARIF,
	NR_GATING_FILES
};

struct gating {
	struct gate_options options;
	struct selection selection;
	/* as on the command line; NULL: not given */
	const char *as, *measure, *inconclusive;
	const char *files[NR_GATING_FILES]; /* "-": to stdout, in place of the table */
	struct arg_list rename_texts;
	bool github, all, no_templates;
	/* filled by gating_complete() */
	struct identity identity;
	vec_of(struct identity_rename) renames;
	bool pass_inconclusive;
};

/* clang-format off */
#define GATING_ROWS(gating)                                                                        \
	ARG_GROUP("Comparison"),                                                                   \
	{"max-growth", 0, ARG_PERCENT, "PCT",                                                      \
	 "fail if a value grows by more than this share of itself "                               \
	 "(default 10%) and by more than --max-delta",                                             \
	 &(gating)->options.max_growth},                                                           \
	{"max-delta", 0, ARG_PERCENT, "POINTS",                                                    \
	 "fail only if it grows by more than this share of the "                                  \
	 "base's total (default 0.5pp)", &(gating)->options.max_delta},                            \
	{"min-share", 0, ARG_PERCENT, "PCT",                                                       \
	 "do not test functions below this share (default 0.5%)", &(gating)->options.min_share},   \
	{"alpha", 0, ARG_REAL, "P",                                                                \
	 "set the probability of any false alarm (default 0.05)", &(gating)->options.alpha},       \
	{"as", 0, ARG_CHOICE("share absolute both"), "WHAT",                                                                \
	 "compare share (of a run), absolute (per run) or both "                                  \
	 "(default)", &(gating)->as},                                                              \
	{"measure", 0, ARG_CHOICE("flat cum both"), "WHAT", "compare flat, cum or both (default)", &(gating)->measure}, \
	{"min-samples", 0, ARG_COUNT, "N",                                                         \
	 "require N samples on each side (default 1000; bench 3000)",                              \
	 &(gating)->options.min_samples},                                                          \
	{"max-loss", 0, ARG_PERCENT, "PCT", "reject runs that lost more samples (default 1%)",     \
	 &(gating)->options.max_loss},                                                             \
	{"max-unknown", 0, ARG_PERCENT, "POINTS",                                                  \
	 "reject sides whose shares of unknown stacks differ by "                                 \
	 "more (default 2pp)",                                                                     \
	 &(gating)->options.max_unknown},                                                          \
	{"single", 0, ARG_FLAG, NULL,                                                              \
	 "accept one run per side: assume that runs differ by 15%", &(gating)->options.single},    \
	{"rename", 0, ARG_TEXTS, "OLD=NEW", "compare function OLD of base with NEW of head",        \
	 &(gating)->rename_texts},                                                                 \
	{"no-templates", 0, ARG_FLAG, NULL, "ignore <template arguments> in names",                \
	 &(gating)->no_templates},                                                                 \
	{"inconclusive", 0, ARG_CHOICE("pass fail"), "WHAT",                                                      \
	 "exit with 0 (pass) or 3 (fail, the default) if inconclusive", &(gating)->inconclusive},  \
	ARG_GROUP("Reports"),                                                                      \
	{"all", 0, ARG_FLAG, NULL, "show every tested function", &(gating)->all},                  \
	{"json", 0, ARG_MAYBE_FILE, "FILE",                                                        \
	 "write a JSON report; this and the next three go to FILE, "                              \
	 "or to stdout in place of the table",                                                     \
	 &(gating)->files[GATING_JSON]},                                                           \
	{"markdown", 0, ARG_MAYBE_FILE, "FILE", "write a Markdown table, and append it to FILE",   \
	 &(gating)->files[GATING_MARKDOWN]},                                                       \
	{"junit", 0, ARG_MAYBE_FILE, "FILE", "write JUnit XML, with one test case per function",   \
	 &(gating)->files[GATING_JUNIT]},                                                          \
	{"sarif", 0, ARG_MAYBE_FILE, "FILE", "write SARIF, for code scanning",                     \
	 &(gating)->files[GATING_SARIF]},                                                          \
	{"github", 0, ARG_FLAG, NULL, "print GitHub annotations (::error ...), at most 10, in "   \
	 "addition to the table",                                                                  \
	 &(gating)->github},                                                                       \
	SELECTION_ROWS(&(gating)->selection)
/* clang-format on */

/* Sets the defaults of all options, before they are parsed. */
void gating_init(struct gating *gating);
/* Interprets the texts after args_parse(). -EINVAL, printed. */
int gating_complete(struct gating *gating);
void gating_release(struct gating *gating);

/* Reads a profile and adds it. -errno, printed. */
int gating_add(struct gating *gating, const char *path, enum run_side side, struct runs *runs);

/* Whether any report besides the table was requested. */
bool gating_has_reports(const struct gating *gating);
/* Writes every report. Returns the exit code of the command. */
enum exit_code gating_report(const struct gating *gating, const struct gate_result *result);

#endif
