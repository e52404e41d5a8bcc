// SPDX-License-Identifier: BSD-2-Clause
/*
 * cprof flame: profiles as a flame graph, or the difference of two.
 *
 *	read, merged, selected -> (the same for the base, functions paired by identity) -> one HTML or SVG file
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd.h"
#include "exit.h"
#include "output/flame.h"
#include "output/flamesvg.h"
#include "output/format.h"
#include "profile/algebra.h"
#include "profile/align.h"
#include "profile/unify.h"
#include "cli/args.h"
#include "tools/newest.h"
#include "tools/notice.h"
#include "tools/reading.h"
#include "tools/save.h"
#include "tools/selection.h"

struct options {
	const char *output, *format;
	struct arg_list base;
	struct selection selection;
	struct flame_options flame;
};

typedef int (*encode_fn)(const struct profile *profile, const struct flame_options *options,
			 sink_fn sink, void *ctx);

/* By --format, or by how the name of the output ends; to stdout, HTML. NULL: neither of both. */
static encode_fn choose_format(const struct options *options)
{
	bool is_file = options->output && strcmp(options->output, "-") != 0;
	const struct output_format *format = options->format ? format_by_name(options->format)
					     : is_file	     ? format_of_path(options->output, NULL)
							     : format_by_name("html");

	if (format && !strcmp(format->name, "svg"))
		return flame_svg_encode;
	return format && !strcmp(format->name, "html") ? flame_html_encode : NULL;
}

/* The base is cut down in the same way, and shown by the same sample type. */
static int load_base(struct options *options, struct profile **base)
{
	struct selection selection = options->selection;
	uint32_t type;

	return selection_load(&selection, &options->base, base, &type);
}

static int write_graph(const struct options *options, const struct profile *profile)
{
	encode_fn encode = choose_format(options);
	struct save save;
	int err = save_open(&save, options->output);

	return err ? err : save_close(&save, encode(profile, &options->flame, save_write, &save));
}

static void profile_freep(struct profile **profile)
{
	profile_free(*profile);
}

/* Both get the sample types that both have; the one that is shown must be among them. */
static int align_base(struct options *options, struct profile *profile, struct profile *base)
{
	char *name scoped(freep) = xasprintf(
		"%s", strtab_get(&profile->strings, profile->types[options->flame.type].type));
	int found;

	if (profile_same_types(profile, base))
		return 0;
	if (profile_align(profile, base))
		return fail(-EINVAL,
			    "the profile and --base have no sample type in common, or units or "
			    "periods that cannot be converted.");
	found = profile_find_type(profile, name);
	if (found < 0)
		return fail(-EINVAL,
			    "--base has no sample type '%s': choose another by --sample-type.",
			    text_escape(name, (char[256]){0}, 256));
	options->flame.type = found;
	return 0;
}

static enum exit_code flame(struct options *options, const struct arg_list *paths)
{
	const char *hint;
	struct profile *profile scoped(profile_freep) = NULL, *base scoped(profile_freep) = NULL;
	int err;

	if (!choose_format(options)) {
		warn("no known format: use -o FILE.html or FILE.svg, or --format html or svg.");
		return EXIT_USAGE;
	}
	err = selection_load(&options->selection, paths, &profile, &options->flame.type);
	if (!err)
		notice_interpreter(profile, options->flame.type);
	hint = err ? NULL : selection_hint(&options->selection, profile, options->flame.type);
	if (hint)
		warn("%s", hint);
	if (!err && options->base.nr)
		err = load_base(options, &base);
	if (err)
		return EXIT_USAGE;
	options->flame.base = base;
	options->flame.sources = paths->at;
	options->flame.nr_sources = paths->nr;
	options->flame.base_sources = options->base.at;
	options->flame.nr_base_sources = options->base.nr;
	if (base && align_base(options, profile, base))
		return EXIT_USAGE;
	if (base)
		profile_unify(base, profile, &(struct identity){0});
	return write_graph(options, profile) ? EXIT_USAGE : EXIT_DONE;
}

int cmd_flame(int argc, char **argv)
{
	struct options options = {0};
	struct reading reading = {.no_sandbox = false};
	const struct arg_row rows[] = {
		{"output", 'o', ARG_OUTPUT, "FILE",
		 "write to FILE.html or FILE.svg; - is stdout, the default "
		 "unless that is a terminal",
		 &options.output},
		{"format", 0, ARG_CHOICE("html svg"), "NAME",
		 "write html or svg, regardless of the suffix of FILE", &options.format},
		{"base", 'b', ARG_FILES, "FILE",
		 "show the difference from this profile; if given several "
		 "times, from all of them merged",
		 &options.base},
		{"normalize", 0, ARG_FLAG, NULL, "scale the base to the same total",
		 &options.flame.normalize},
		{"inverted", 'i', ARG_FLAG, NULL,
		 "begin with the innermost functions, and show their callers",
		 &options.flame.inverted},
		{"title", 0, ARG_TEXT, "TEXT", "set the heading (default: the process)",
		 &options.flame.title},
		{"width", 0, ARG_COUNT_FROM(FLAMESVG_MIN_PX, FLAMESVG_MAX_PX), "PX",
		 "set the width of an SVG, 200 to 20000 (default 1200)", &options.flame.width_px},
		SYMBOLIZE_ROW(&options.selection),
		SELECTION_ROWS(&options.selection),
		READING_ROWS(&reading),
	};
	struct args args scoped(args_release) = {
		.command = "flame",
		.operands = "[FILE...]",
		.needs_file = true,
		.implied = &newest_operand,
		.about = "Draw profiles as a flame graph: one HTML file with all sample types, "
			 "zoom, search and a "
			 "table, which needs no network; or an SVG of one sample type.",
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog = "Exit codes: 0 success, 2 usage error, or a file cannot be read or "
			  "written.",
	};
	enum exit_code code;

	return reading_begin(&reading, &args, argc, argv, &code) ? flame(&options, &args.operand)
								 : code;
}
