/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What check and bench have in common: the options of a comparison, runs from profiles, a result
 * written wherever it was asked for, and the exit code it comes to.
 */
#ifndef CPROF_TOOLS_GATING_H
#define CPROF_TOOLS_GATING_H

#include "exit.h"
#include "gate/report.h"
#include "gate/runs.h"
#include "gate/verdict.h"
#include "tools/args.h"
#include "tools/selection.h"

enum gating_file { /* the reports that a FILE can be named for */
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
	{"max-growth", 0, ARG_PERCENT, "PCT",                                                      \
	 "fails what grew by more of itself (default 10%), and",                                   \
	 &(gating)->options.max_growth},                                                           \
	{"max-delta", 0, ARG_PERCENT, "POINTS",                                                    \
	 "by more of the base's total (default 0.5pp)", &(gating)->options.max_delta},             \
	{"min-share", 0, ARG_PERCENT, "PCT",                                                       \
	 "functions below it are not tested (default 0.5%)", &(gating)->options.min_share},        \
	{"alpha", 0, ARG_REAL, "P",                                                                \
	 "probability of any false alarm (default 0.05)", &(gating)->options.alpha},               \
	{"as", 0, ARG_TEXT, "WHAT",                                                                \
	 "share (of a run), absolute (per run) or both (default)", &(gating)->as},                 \
	{"measure", 0, ARG_TEXT, "WHAT", "flat, cum or both (default)", &(gating)->measure},       \
	{"min-samples", 0, ARG_COUNT, "N",                                                         \
	 "fewer on a side are too few (default 1000; bench 3000)",                                 \
	 &(gating)->options.min_samples},                                                          \
	{"max-loss", 0, ARG_PERCENT, "PCT", "a run that lost more is no good (default 1%)",        \
	 &(gating)->options.max_loss},                                                             \
	{"max-unknown", 0, ARG_PERCENT, "POINTS",                                                  \
	 "the sides' unknown stacks may differ by (default 2pp)",                                  \
	 &(gating)->options.max_unknown},                                                          \
	{"single", 0, ARG_FLAG, NULL,                                                              \
	 "without replicates: assume that runs differ by 15%", &(gating)->options.single},         \
	{"rename", 0, ARG_LIST, "OLD=NEW", "a function that has another name in head",             \
	 &(gating)->rename_texts},                                                                 \
	{"no-templates", 0, ARG_FLAG, NULL, "names without <template arguments>",                  \
	 &(gating)->no_templates},                                                                 \
	{"inconclusive", 0, ARG_TEXT, "WHAT",                                                      \
	 "pass: exit 0 where nothing can be decided; fail: 3", &(gating)->inconclusive},           \
	{"all", 0, ARG_FLAG, NULL, "show every function that was tested", &(gating)->all},         \
	{"json", 0, ARG_MAYBE_FILE, "FILE",                                                        \
	 "all of it for scripts; this and the next three: to\nstdout in place of the table, or "   \
	 "to a FILE",                                                                              \
	 &(gating)->files[GATING_JSON]},                                                           \
	{"markdown", 0, ARG_MAYBE_FILE, "FILE", "a table; appended to $GITHUB_STEP_SUMMARY",       \
	 &(gating)->files[GATING_MARKDOWN]},                                                       \
	{"junit", 0, ARG_MAYBE_FILE, "FILE", "a test case for each function",                      \
	 &(gating)->files[GATING_JUNIT]},                                                          \
	{"sarif", 0, ARG_MAYBE_FILE, "FILE", "for code scanning",                                  \
	 &(gating)->files[GATING_SARIF]},                                                          \
	{"github", 0, ARG_FLAG, NULL, "annotations (::error ...), at most 10, besides the table",  \
	 &(gating)->github},                                                                       \
	SELECTION_ROWS(&(gating)->selection)
/* clang-format on */

void gating_init(struct gating *gating);
/* After args_parse(): what the texts mean. -EINVAL, printed. */
int gating_complete(struct gating *gating);
void gating_release(struct gating *gating);

/* Reads a profile and adds it. -errno, printed. */
int gating_add(struct gating *gating, const char *path, enum run_side side, struct runs *runs);

/* Is any report asked for besides the table? */
bool gating_has_reports(const struct gating *gating);
/* Writes every report, and says what the process is to exit with. */
enum exit_code gating_report(const struct gating *gating, const struct gate_result *result);
/* The code of a verdict alone. */
enum exit_code gating_code(const struct gating *gating, enum gate_verdict verdict);

#endif
