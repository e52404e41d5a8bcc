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

struct gating {
	struct gate_options options;
	struct selection selection;
	/* as on the command line; NULL: not given */
	const char *as, *measure, *inconclusive;
	const char *json, *markdown, *junit, *sarif;
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
	{"min-samples", 0, ARG_COUNT, "N", "fewer on a side are too few",                          \
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
	 "=pass: exit 0 where nothing can be decided, not 3", &(gating)->inconclusive},            \
	{"all", 0, ARG_FLAG, NULL, "show every function that was tested", &(gating)->all},         \
	{"json", 0, ARG_TEXT, "FILE", "all of it for scripts; -: stdout, and no table",            \
	 &(gating)->json},                                                                         \
	{"markdown", 0, ARG_TEXT, "FILE", "appended: $GITHUB_STEP_SUMMARY",                        \
	 &(gating)->markdown},                                                                     \
	{"github", 0, ARG_FLAG, NULL, "annotations (::error ...), at most 10", &(gating)->github}, \
	{"junit", 0, ARG_TEXT, "FILE", "a test case for each function", &(gating)->junit},         \
	{"sarif", 0, ARG_TEXT, "FILE", "for code scanning", &(gating)->sarif},                     \
	SELECTION_ROWS(&(gating)->selection)
/* clang-format on */

void gating_init(struct gating *gating);
/* After args_parse(): what the texts mean. -EINVAL, printed. */
int gating_complete(struct gating *gating);
void gating_release(struct gating *gating);

/* Reads a profile and adds it. -errno, printed. */
int gating_add(struct gating *gating, const char *path, enum run_side side, struct runs *runs);

/* Writes every report, and says what the process is to exit with. */
enum exit_code gating_report(const struct gating *gating, const struct gate_result *result);
/* The code of a verdict alone. */
enum exit_code gating_code(const struct gating *gating, enum gate_verdict verdict);

#endif
