/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the commands that show a profile as text share (top, tree, peek): common options, the header, values in
 * one unit, JSON on stdout.
 *
 *	struct view view = {0};
 *	const struct arg_row rows[] = { ..., VIEW_ROWS(&view) };
 *	err = view_open(&view, &args.operand);
 *	view_print_head(&view);
 *	...
 *	view_release(&view);
 */
#ifndef CPROF_TOOLS_VIEW_H
#define CPROF_TOOLS_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "exit.h"
#include "profile/frames.h"
#include "profile/summary.h"
#include "profile/unit.h"
#include "tools/selection.h"

struct view {
	struct selection selection;
	const char *unit_text, *by_text; /* --unit, --by; NULL: not given */
	bool json, full_names;
	/* Filled by view_complete(). */
	enum frame_by by;
	const char *
		by_label; /* --by pid ...: rows are the values of this label; NULL: they are frames */
	bool short_names;
	/* Filled by view_open(). */
	struct profile *profile;
	uint32_t type;
	const char *type_name, *type_unit; /* of the sample type; strings of the profile */
	const char *unit;		   /* that values are shown in */
	bool colours;
};

/* clang-format off */
#define VIEW_ROWS(view)                                                                            \
	{"by", 0, ARG_CHOICE("function line file mapping address pid comm tid thread tag=KEY"), "WHAT",                                                                \
	 "group by function (default), line, file, mapping, address, "                            \
	 "or the values of a label: pid, comm, tid, thread, tag=KEY",                              \
	 &(view)->by_text},                                                                        \
	{"unit", 0, ARG_TEXT, "UNIT", "show values in UNIT: ms, s, MB ... (default: chosen to fit)", \
	 &(view)->unit_text},                                                                      \
	{"json", 0, ARG_FLAG, NULL, "print JSON, with raw values and all rows", &(view)->json},    \
	{"full-names", 0, ARG_FLAG, NULL,                                                          \
	 "print whole names on a terminal, with template and "                                    \
	 "function arguments",                                                                     \
	 &(view)->full_names},                                                                     \
	SYMBOLIZE_ROW(&(view)->selection), SELECTION_ROWS(&(view)->selection)

/* -n of the commands that show the largest rows first. */
#define VIEW_LIMIT_ROW(limit)                                                                      \
	{"limit", 'n', ARG_COUNT, "N", "show at most N rows (default 30, with --json all; 0: all)", limit}
/* clang-format on */

#define VIEW_DEFAULT_LIMIT UINT32_MAX /* the limit before it is parsed */
/* The number of rows to show, of nr. */
size_t view_nr_shown(const struct view *view, uint32_t limit, size_t nr);

/* Completes what follows from the options alone, without a profile. */
void view_complete(struct view *view);
/*
 * Checks the options and loads the profile (selection_load()). With --by LABEL the values of the label become
 * the frames: alone, or at the root of the stacks (profile/bylabel.h). Warns of what the profile cannot show
 * (tools/notice.h). -errno, printed.
 */
int view_open(struct view *view, const struct arg_list *paths, bool label_alone);
/* The part of it for --by LABEL, for a loaded profile. -EINVAL, printed: there is no such label. */
int view_apply_label(const struct view *view, struct profile *profile, bool alone);
void view_release(struct view *view); /* opened or not */

/* Chooses the unit of all values by the smallest of them (0: none), unless --unit did. */
void view_choose_unit(struct view *view, int64_t smallest);
/* The smallest magnitude of a row: flat, or cum where flat is 0. */
int64_t view_smallest(const struct summary *summary);

/* Prints program, comments, type, time, duration and total, as `go tool pprof` does. */
void view_print_head(const struct view *view);

/* Formats a value of the sample type in the chosen unit. Returns out. */
char *view_value(const struct view *view, int64_t value, char out[UNIT_TEXT_BYTES]);
/* Formats it as a percentage of selection.total. Returns out. */
char *view_share(const struct view *view, int64_t value, char out[UNIT_TEXT_BYTES]);
/* The escape sequences that begin and end the colour of such a share; "" without colours. */
const char *view_colour(const struct view *view, int64_t value);
const char *view_plain(const struct view *view);
/* The name, escaped for a terminal. Owned by the caller. */
char *view_name(const char *name);
/* The same for the name of a frame, shortened on a terminal (profile/shortname.h). */
char *view_frame_name(const struct view *view, const struct frame *frame);

/* Begins and ends a JSON text on stdout; it ends with a newline. main() checks that all was written. */
void view_open_json(struct json *json);
void view_close_json(struct json *json);
/* Begins and ends a JSON object that has the data of the header; the caller adds keys. */
void view_begin_json(const struct view *view, const char *command, struct json *json);
void view_end_json(struct json *json);
/* Writes the keys of a frame: its name, and what else is known about it. */
void view_put_frame(struct json *json, const struct frame *frame);

/* A command that shows each of its files by itself, as text or as a JSON array. Texts are borrowed. */
struct view_command {
	const char *name, *about, *epilog; /* struct args has the terms */
	/* Shows a file: to json, or as text if that is NULL. */
	enum exit_code (*show)(const char *path, struct json *json);
};

/* Runs it. The largest of the files' exit codes, or that of a wrong usage. */
int view_command_run(const struct view_command *command, int argc, char **argv);

#endif
