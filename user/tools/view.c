// SPDX-License-Identifier: BSD-2-Clause
/*
 * What top, tree and peek have in common stands here so that their pages look the same: one head,
 * one unit for a page, one rule for what share is coloured. Output goes to stdio's buffer; main() checks
 * that all of it was written, once, at the end (cli/stdstreams.h).
 */
#include "tools/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/magnitude.h"
#include "base/text.h"
#include "profile/bound.h"
#include "profile/algebra.h"
#include "profile/bylabel.h"
#include "profile/shortname.h"
#include "tools/newest.h"
#include "tools/notice.h"
#include "tools/reading.h"

#define DEFAULT_ROWS 30 /* a screen, with the head above it */
#define MAX_COMMENTS 10

size_t view_nr_shown(const struct view *view, uint32_t limit, size_t nr)
{
	if (limit == VIEW_DEFAULT_LIMIT)
		limit = view->json ? 0 : DEFAULT_ROWS;
	return limit && limit < nr ? limit : nr;
}

/* The label that --by names; NULL: none of it. */
static const char *label_of(const char *by)
{
	static const char *const keys[] = {"pid", "comm", "tid", "thread"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(by, keys[i]))
			return keys[i];
	return !strncmp(by, "tag=", 4) && by[4] ? by + 4 : NULL;
}

void view_complete(struct view *view)
{
	view->by_label = view->by_text ? label_of(view->by_text) : NULL;
	view->short_names = isatty(STDOUT_FILENO) && !view->full_names;
	if (!view->by_text || view->by_label || frame_by_name(view->by_text, &view->by))
		view->by = FRAME_BY_FUNCTION;
}

int view_apply_label(const struct view *view, struct profile *profile, bool alone)
{
	const char *key = view->by_label;
	char keys[256], safe[2][4 * 256];

	if (!key || !profile->samples.nr || !profile_by_label(profile, key, alone))
		return 0;
	profile_label_keys(profile, keys, sizeof(keys));
	return fail(-EINVAL, "--by %s: no sample has a label '%s'%s%s%s.", view->by_text,
		    text_escape(key, safe[0], sizeof(safe[0])),
		    *keys ? "; use one of " : ": the profile has no labels",
		    text_escape(keys, safe[1], sizeof(safe[1])),
		    !strcmp(key, "tid") || !strcmp(key, "thread")
			    ? " (record it with cprof record -t)"
			    : "");
}

int view_open(struct view *view, const struct arg_list *paths, bool label_alone)
{
	const struct value_type *type;
	int err;

	view_complete(view);
	err = selection_load(&view->selection, paths, &view->profile, &view->type);
	if (err)
		return err;
	type = &view->profile->types[view->type];
	view->type_name = strtab_get(&view->profile->strings, type->type);
	view->type_unit = strtab_get(&view->profile->strings, type->unit);
	view->unit = view->unit_text ? view->unit_text : "auto";
	view->colours = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	if (unit_check(view->type_unit, view->unit))
		err = fail(-EINVAL, "--unit %s: %s is counted in %s.", view->unit, view->type_name,
			   view->type_unit);
	if (!err) {
		if (!view->json)
			notice_interpreter(view->profile, view->type);
		notice_missing(view->profile, view->by);
		err = view_apply_label(view, view->profile, label_alone);
	}
	if (err)
		view_release(view);
	return err;
}

void view_release(struct view *view)
{
	profile_free(view->profile);
	view->profile = NULL;
}

void view_choose_unit(struct view *view, int64_t smallest)
{
	if (!strcmp(view->unit, "auto"))
		view->unit = unit_for(smallest, view->selection.total, view->type_unit);
}

int64_t view_smallest(const struct summary *summary)
{
	int64_t smallest = 0;

	for (size_t i = 0; i < summary->nr; i++) {
		const struct summary_node *node = &summary->nodes[i];
		int64_t value = node->flat ? node->flat : node->cum;

		if (!smallest || compare_magnitudes(value, smallest) > 0)
			smallest = value;
	}
	return smallest;
}

static void print_line(const char *what, const char *text)
{
	char *safe scoped(freep) = view_name(text);

	printf("%s%s\n", what, safe);
}

/* A merge of thousands of files keeps the comments of all. */
static void print_comments(const struct profile *profile)
{
	size_t nr = 0;

	vec_for_each(&profile->comments, comment) {
		const char *text = strtab_get(&profile->strings, *comment);

		if (*text != '#' && nr++ < MAX_COMMENTS)
			print_line("", text);
	}
	if (nr > MAX_COMMENTS)
		printf("and %s more comments (cprof info)\n", text_count(nr - MAX_COMMENTS));
}

static void print_time(int64_t time_ns)
{
	time_t seconds = time_ns / (int64_t)NSEC_PER_SEC;
	struct tm tm;
	char text[64];

	if (time_ns && localtime_r(&seconds, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %Z", &tm))
		printf("Time: %s\n", text);
}

void view_print_head(const struct view *view)
{
	const struct profile *profile = view->profile;
	const struct strtab *strings = &profile->strings;
	const char *bound = bound_word(bound_said(profile, view->type_name));
	const char *hint = selection_hint(&view->selection, profile, view->type);
	char total[UNIT_TEXT_BYTES], duration[UNIT_TEXT_BYTES], share[UNIT_TEXT_BYTES] = "";
	double factor;

	if (profile->mappings.nr) {
		const struct profile_mapping *mapping = &profile->mappings.at[0];

		if (mapping->path)
			print_line("File: ", text_base_name(strtab_get(strings, mapping->path)));
		if (mapping->build_id)
			print_line("Build ID: ", strtab_get(strings, mapping->build_id));
	}
	print_comments(profile);
	print_line("Type: ", view->type_name);
	if (profile->doc_url)
		print_line("Doc: ", strtab_get(strings, profile->doc_url));
	print_time(profile->time_ns);
	view_value(view, view->selection.total, total);
	if (hint)
		printf("%s\n", hint);
	if (!profile->duration_ns) {
		printf("Total: %s%s\n", bound, total);
		return;
	}
	unit_text(profile->duration_ns, "nanoseconds", "auto", duration);
	if (!unit_factor(view->type_unit, "nanoseconds", &factor))
		unit_share(profile_scaled(view->selection.total, factor), profile->duration_ns,
			   share);
	printf("Duration: %s, Total samples = %s%s%s%s%s\n", duration, bound, total,
	       *share ? " (" : "", share, *share ? ")" : "");
}

char *view_value(const struct view *view, int64_t value, char out[UNIT_TEXT_BYTES])
{
	return unit_text(value, view->type_unit, view->unit, out);
}

char *view_share(const struct view *view, int64_t value, char out[UNIT_TEXT_BYTES])
{
	return unit_share(value, view->selection.total, out);
}

const char *view_colour(const struct view *view, int64_t value)
{
	double share = view->selection.total
			       ? (double)magnitude_of(value) / (double)view->selection.total
			       : 0;

	if (!view->colours)
		return "";
	return share >= 0.1 ? "\033[1;31m" : share >= 0.01 ? "\033[33m" : "\033[2m";
}

const char *view_plain(const struct view *view)
{
	return view->colours ? "\033[0m" : "";
}

char *view_name(const char *name)
{
	size_t need = 4 * strlen(name) + 1; /* every byte may become "\xNN" */

	return text_escape(name, xmalloc(need), need);
}

/* What is before the function in a name, and behind it, stays: an address, a line. */
char *view_frame_name(const struct view *view, const struct frame *frame)
{
	const char *function = *frame->function ? strstr(frame->name, frame->function) : NULL;
	char *shortened scoped(freep) = NULL, *whole scoped(freep) = NULL;

	/* a label's value is no function */
	if (!view->short_names || !function || (view->by_label && !*frame->mapping))
		return view_name(frame->name);
	shortened = short_name(frame->function);
	whole = xasprintf("%.*s%s%s", (int)(function - frame->name), frame->name, shortened,
			  function + strlen(frame->function));
	return view_name(whole);
}

static int to_stdout(void *ctx, const void *bytes, size_t len_bytes)
{
	(void)ctx;
	return fwrite(bytes, 1, len_bytes, stdout) == len_bytes ? 0 : -EIO;
}

void view_open_json(struct json *json)
{
	json_begin(json, to_stdout, NULL);
}

void view_close_json(struct json *json)
{
	json_finish(json);
	putchar('\n');
}

void view_begin_json(const struct view *view, const char *command, struct json *json)
{
	view_open_json(json);
	json_object(json);
	json_key(json, "command"), json_string(json, command);
	json_key(json, "type"), json_string(json, view->type_name);
	json_key(json, "unit"), json_string(json, view->type_unit);
	json_key(json, "total"), json_int(json, view->selection.total);
	json_key(json, "time_ns"), json_int(json, view->profile->time_ns);
	json_key(json, "duration_ns"), json_int(json, view->profile->duration_ns);
	json_key(json, "by"), json_string(json, view->by_text ? view->by_text : "function");
}

void view_end_json(struct json *json)
{
	json_end(json);
	view_close_json(json);
}

void view_put_frame(struct json *json, const struct frame *frame)
{
	json_key(json, "name"), json_string(json, frame->name);
	if (*frame->function)
		json_key(json, "function"), json_string(json, frame->function);
	if (*frame->file)
		json_key(json, "file"), json_string(json, frame->file);
	if (frame->line)
		json_key(json, "line"), json_int(json, frame->line);
	if (frame->address)
		json_key(json, "address"), json_uint(json, frame->address);
	if (*frame->mapping)
		json_key(json, "mapping"), json_string(json, frame->mapping);
}

static enum exit_code show_files(const struct arg_list *paths, bool as_json,
				 const struct view_command *command)
{
	enum exit_code code = EXIT_DONE;
	struct json json;

	if (as_json) {
		view_open_json(&json);
		json_array(&json);
	}
	for (size_t i = 0; i < paths->nr; i++) {
		enum exit_code one = command->show(paths->at[i], as_json ? &json : NULL);

		code = one > code ? one : code;
	}
	if (as_json) {
		json_end(&json);
		view_close_json(&json);
	}
	return code;
}

int view_command_run(const struct view_command *command, int argc, char **argv)
{
	bool as_json = false;
	struct reading reading = {.no_sandbox = false};
	const struct arg_row rows[] = {
		{"json", 0, ARG_FLAG, NULL, "print a JSON array with one object per file",
		 &as_json},
		READING_ROWS(&reading),
	};
	struct args args scoped(args_release) = {
		.command = command->name,
		.operands = "[FILE...]",
		.needs_file = true,
		.implied = &newest_operand,
		.about = command->about,
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog = command->epilog,
	};
	enum exit_code code;

	return reading_begin(&reading, &args, argc, argv, &code)
		       ? show_files(&args.operand, as_json, command)
		       : code;
}
