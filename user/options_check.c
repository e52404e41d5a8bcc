// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checks combinations of options, and completes the struct. That is which file has which format, which views are
 * written, and that there is one way of choosing targets. Doing this after getopt
 * makes the order of options irrelevant.
 */
#include "options_parts.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
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

static int choose_targets(struct options_parsing *parsing)
{
	struct options *options = parsing->options;
	size_t nr = parsing->outputs.nr;

	if (nr)
		options->output = parsing->outputs.at[0];
	if (options->targets.nr) {
		name_one(options);
		return nr < 2 ? 0
			      : fail(-EINVAL, "--format cannot be combined with several -o: their "
					      "suffixes choose the formats.");
	}
	if (!nr)
		options_add_target(options, format_at(0), NULL);
	for (size_t i = 0; i < nr; i++) {
		const char *file = parsing->outputs.at[i];
		const struct output_format *format = format_of_path(file, NULL);

		for (size_t j = 0; j < i; j++)
			if (!strcmp(file, parsing->outputs.at[j]))
				return fail(-EINVAL, "-o %s is given twice.", file);
		options_add_target(options, format ? format : format_at(0), file);
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

/* What follows from several options together. */
int options_complete(struct options_parsing *parsing)
{
	struct options *options = parsing->options;
	int err = choose_targets(parsing);

	if (err)
		return err;
	if (!options->views)
		options->views = options->allocs_only ? OPTIONS_VIEW_ALLOC : OPTIONS_VIEW_ALL;
	if (options->views & OPTIONS_VIEW_DELTA && !options->duration_ns)
		options->duration_ns = options->delta_ns;
	if (options->views & OPTIONS_VIEW_DELTA && options->duration_ns < options->delta_ns)
		return fail(-EINVAL, "--delta is longer than -d: give a longer -d.");
	return check_stdout(options);
}

int options_check_targets(int argc, char **argv, struct options *options)
{
	const char *name = argv[0];
	int nr_ways = targetspec_names(&options->spec) + options->all + (optind < argc);

	if (optind < argc)
		options->child_argv = argv + optind;
	if (!nr_ways && !targetspec_filters(&options->spec))
		return fail(-EINVAL,
			    "no target: use -p PID, -a or -- COMMAND (see cprof %s --help).", name);
	if (nr_ways > 1)
		return fail(-EINVAL, "-p, -a and -- COMMAND cannot be combined: give one of them.");
	if (optind < argc && targetspec_filters(&options->spec))
		return fail(-EINVAL, "--comm, --uid, --cgroup and --container cannot be combined "
				     "with -- COMMAND: they select among all processes.");
	return 0;
}
