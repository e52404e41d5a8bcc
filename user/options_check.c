// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checks combinations of options, and completes the struct. That is which file has which format, which views are
 * written, and that there is one way of choosing targets. Doing this once all are read
 * makes the order of options irrelevant.
 */
#include "options_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/urls.h"
#include "output/file.h"
#include "output/format.h"

/*
 * --format says formats; the name that -o gives is that of the one whose suffix it bears, or of the first
 * if it bears none: no file's name says that it is of another format. Else each -o says by its suffix
 * what it is to be, and pprof is what any other name means.
 */
static void name_one(struct options *options)
{
	const struct output_format *format = options->output ? format_of_path(options->output, NULL)
							     : NULL;

	vec_for_each(&options->targets, target)
		if (target->format == format)
			target->file = options->output;
	if (!format)
		options->targets.at[0].file = options->output;
}

/* Adds what is written as format, to file if that is not NULL; a format without a file once. */
static void add_target(struct options *options, const struct output_format *format,
		       const char *file)
{
	vec_for_each(&options->targets, target)
		if (!file && target->format == format)
			return;
	vec_push(&options->targets, (struct options_target){format, file});
}

/* --format NAME,NAME: the names are known to be good. */
static void add_formats(struct options *options, const char *text)
{
	char *copy scoped(freep) = xstrdup(text), *rest = copy, *name;

	while ((name = strsep(&rest, ",")))
		add_target(options, format_by_name(name), NULL);
}

static int fail_foreign(const char *path)
{
	char names[256], safe[512];

	return fail(-EINVAL, "-o %s: the suffix is no known format: give --format with one of %s.",
		    text_escape(path, safe, sizeof(safe)), format_names(names, sizeof(names)));
}

static int choose_targets(struct options_parsing *parsing)
{
	struct options *options = parsing->options;
	size_t nr = parsing->outputs.nr;

	vec_for_each(&parsing->formats, text)
		add_formats(options, *text);
	if (nr)
		options->output = parsing->outputs.at[0];
	if (options->targets.nr) {
		name_one(options);
		return nr < 2 ? 0
			      : fail(-EINVAL, "--format cannot be combined with several -o: their "
					      "suffixes choose the formats.");
	}
	if (!nr)
		add_target(options, format_at(0), NULL);
	for (size_t i = 0; i < nr; i++) {
		const char *file = parsing->outputs.at[i];
		const struct output_format *format = format_of_path(file, NULL);

		for (size_t j = 0; j < i; j++)
			if (!strcmp(file, parsing->outputs.at[j]))
				return fail(-EINVAL, "-o %s is given twice.", file);
		if (format_is_foreign(file))
			return fail_foreign(file);
		add_target(options, format ? format : format_at(0), file);
	}
	return 0;
}

/* Is there something to write that standard output, which is one file, has no place for? */
static int check_stdout(const struct options *options)
{
	bool series = options->interval_ns || options->views & (options->views - 1) ||
		      (options->delta_ns && options->duration_ns > options->delta_ns);
	bool unnamed = false, is_stdout = false;

	vec_for_each(&options->targets, target) {
		unnamed |= !target->file;
		is_stdout |= target->file && output_is_stdout(target->file);
	}
	if (!is_stdout || (!series && !unnamed))
		return 0;
	return fail(-EINVAL, "-o - writes a single file: it cannot be combined with --interval, "
			     "several views or several formats.");
}

/* What a heap run writes. */
static void choose_views(struct options_parsing *parsing)
{
	struct options *options = parsing->options;

	if (parsing->views)
		options->views |= OPTIONS_VIEW_ALL | OPTIONS_VIEW_INUSE | OPTIONS_VIEW_ALLOC;
	if (parsing->inuse)
		options->views |= OPTIONS_VIEW_INUSE;
	if (parsing->leaks || options->leak_age_ns)
		options->views |= OPTIONS_VIEW_LEAKS;
	if (parsing->peak)
		options->views |= OPTIONS_VIEW_PEAK;
	if (parsing->alloc)
		options->views |= OPTIONS_VIEW_ALLOC;
	if (options->delta_ns)
		options->views |= OPTIONS_VIEW_DELTA;
	if (!options->views)
		options->views = options->allocs_only ? OPTIONS_VIEW_ALLOC : OPTIONS_VIEW_ALL;
}

/* Adds the folders as absolute paths: the process that opens files may be in another folder. */
static int add_debug_dirs(struct options_parsing *parsing)
{
	vec_for_each(&parsing->debug_dirs, text) {
		char *inside scoped(freep) = xasprintf("%s/.", *text);
		char *path = realpath(inside, NULL);

		if (!path)
			return fail(-EINVAL, "--debug-dir %s: %s.", *text, strerror(errno));
		vec_push(&parsing->options->debug_dirs, path);
	}
	return 0;
}

static bool keeps_lives(const struct options *options)
{
	return options->lifetimes || options->views & (OPTIONS_VIEW_PEAK | OPTIONS_VIEW_LEAKS);
}

int options_complete(struct options_parsing *parsing)
{
	struct options *options = parsing->options;
	int err = choose_targets(parsing);

	if (!err)
		err = add_debug_dirs(parsing);
	if (!err && options->debuginfod)
		err = urls_find("--debuginfod", options->debuginfod, "DEBUGINFOD_URLS",
				&options->debuginfod);
	if (err)
		return err;
	for (int i = 0; i < NR_TARGETSPEC_FILTERS; i++)
		vec_for_each(&parsing->filters[i], text)
			vec_push(&options->spec.filters[i], *text);
	choose_views(parsing);
	if (options->max_overhead == OVERHEAD_NOT_GIVEN)
		options->max_overhead = options->all ? OVERHEAD_OF_ALL : OVERHEAD_ANY;
	if (options->max_overhead < 1 || options->max_overhead > OVERHEAD_ANY)
		return fail(-EINVAL, "--max-overhead is a share of CPU time: from 1 to 100 "
				     "percent, where 100 is no limit.");
	if (options->allocs_only && keeps_lives(options))
		return fail(-EINVAL, "--peak, --leaks and --lifetimes cannot be combined with "
				     "--alloc-only: they follow frees.");
	if (options->lifetimes && !(options->views & (OPTIONS_VIEW_ALL | OPTIONS_VIEW_ALLOC)))
		return fail(-EINVAL,
			    "--lifetimes labels what was allocated, which --inuse, --peak and "
			    "--leaks do not show: add --views, or omit --lifetimes.");
	if (options->lifetimes && (options->interval_ns || options->delta_ns))
		return fail(-EINVAL, "--lifetimes covers the whole run: it cannot be combined with "
				     "--interval or --delta.");
	if (options->views & OPTIONS_VIEW_DELTA && !options->duration_ns)
		options->duration_ns = options->delta_ns;
	if (options->views & OPTIONS_VIEW_DELTA && options->duration_ns < options->delta_ns)
		return fail(-EINVAL, "--delta is longer than -d: give a longer -d.");
	return check_stdout(options);
}

int options_check_targets(struct options *options)
{
	const char *name = options->command == OPTIONS_HEAP ? "heap" : "record";
	int nr_ways = targetspec_names(&options->spec) + options->all;
	bool has_others = nr_ways || targetspec_filters(&options->spec);

	options->child_is_target = options->child_argv && !has_others;
	if (!has_others && !options->child_argv)
		return fail(-EINVAL,
			    "no target: use -p PID, -a or -- COMMAND (see cprof %s --help).", name);
	if (nr_ways > 1)
		return fail(-EINVAL, "-p and -a cannot be combined: give one of them.");
	if (options->mode == OPTIONS_MODE_INSIDE && !options->child_is_target)
		return fail(-EINVAL,
			    "--mode inside is for a launched command (-- COMMAND): running "
			    "processes are probed.");
	if (options->inject && options->child_is_target)
		return fail(-EINVAL, "a launched command already samples itself: omit --inject.");
	if (options->inject && (options->spec.pids.nr + options->spec.names.nr != 1 ||
				targetspec_filters(&options->spec) || options->follow_forks))
		return fail(-EINVAL,
			    "--inject is for one process, without its children: give -p PID, "
			    "or a name that only one process has.");
	if (options->inject && options->mode == OPTIONS_MODE_PROBE)
		return fail(-EINVAL,
			    "--inject and --mode probe cannot be combined: without --inject "
			    "a running process is probed.");
	return 0;
}
