// SPDX-License-Identifier: BSD-2-Clause
/* cprof convert: a profile in other formats. */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "exit.h"
#include "output/format.h"
#include "profile/merge.h"
#include "profile/prune.h"
#include "tools/newest.h"
#include "tools/reading.h"
#include "tools/save.h"
#include "tools/selection.h"

struct convert {
	struct selection selection;
	struct arg_list outputs;
	const char *format; /* NULL: by suffix */
	struct profile *profile;
	struct profile *pruned; /* without the frames that it says to drop; NULL: not made yet */
	uint32_t type;
	bool prune;
};

static int choose_format(const struct convert *convert, const char *path,
			 const struct output_format **format)
{
	char names[256], safe[512];

	if (convert->format)
		*format = format_by_name(convert->format);
	else
		*format = path && strcmp(path, "-") ? format_of_path(path, NULL) : format_at(0);
	if (*format)
		return 0;
	return fail(-EINVAL, "-o %s: the suffix is no known format: give --format with one of %s.",
		    text_escape(path, safe, sizeof(safe)), format_names(names, sizeof(names)));
}

/*
 * pprof files keep all frames and the profile's drop_frames, for the reader to apply; in other
 * formats, which cannot say so, they are left out, as top leaves them out.
 */
static const struct profile *suitable(struct convert *convert, const struct output_format *format)
{
	if (format->is_pprof || !convert->prune)
		return convert->profile;
	if (!convert->pruned && profile_pruned_copy(convert->profile, &convert->pruned)) {
		warn("the profile's drop_frames is not a regular expression: writing all frames");
		convert->prune = false;
	}
	return convert->pruned ? convert->pruned : convert->profile;
}

static int write_one(struct convert *convert, const char *path)
{
	const struct output_format *format;
	struct save save = {.path = NULL};
	uint32_t type = convert->type;
	char safe[512];
	int err = choose_format(convert, path, &format);

	if (!err)
		err = save_open(&save, path);
	if (err)
		return err;
	if (!convert->selection.sample_type)
		type = format_main_type(format, convert->profile);
	err = format->encode(suitable(convert, format), type, save_write, &save);
	if (err != -EDOM && err != -E2BIG)
		return save_close(&save, err);
	save_abandon(&save);
	if (err == -E2BIG)
		return fail(err,
			    "%s: too many or too long stacks for %s: choose some with --focus.",
			    text_escape(path ? path : "stdout", safe, sizeof(safe)), format->name);
	return fail(err, "%s: the profile cannot be written as %s: %s.",
		    text_escape(path ? path : "stdout", safe, sizeof(safe)), format->name,
		    format->refusal);
}

/* A filtered profile does not tell of what was filtered out. */
static void leave_out_unused(struct convert *convert)
{
	const struct selection *selection = &convert->selection;
	struct profile *whole = convert->profile;

	if (!selection->focus && !selection->ignore && !selection->hide && !selection->show &&
	    !selection->show_from && !selection->tag_focus && !selection->tag_ignore)
		return;
	convert->profile = profile_compact(whole);
	profile_free(whole);
}

static enum exit_code write_all(struct convert *convert)
{
	enum exit_code code = EXIT_DONE;

	if (!convert->outputs.nr)
		return write_one(convert, NULL) ? EXIT_USAGE : EXIT_DONE;
	for (size_t i = 0; i < convert->outputs.nr; i++)
		if (write_one(convert, convert->outputs.at[i]))
			code = EXIT_USAGE;
	return code;
}

static enum exit_code convert_paths(struct convert *convert, const struct arg_list *paths)
{
	const struct output_format *format;
	enum exit_code code;

	for (size_t i = 0; i < convert->outputs.nr; i++) /* before anything is read */
		if (choose_format(convert, convert->outputs.at[i], &format))
			return EXIT_USAGE;
	if (!convert->outputs.nr && choose_format(convert, NULL, &format))
		return EXIT_USAGE;
	convert->prune = !convert->selection.all_frames;
	convert->selection.all_frames = true;
	if (selection_load(&convert->selection, paths, &convert->profile, &convert->type))
		return EXIT_USAGE;
	leave_out_unused(convert);
	code = write_all(convert);
	profile_free(convert->profile);
	profile_free(convert->pruned);
	return code;
}

int cmd_convert(int argc, char **argv)
{
	struct convert convert = {.format = NULL};
	struct reading reading = {.no_sandbox = false};
	const struct arg_row rows[] = {
		{"output", 'o', ARG_OUTPUTS, "FILE",
		 "write to FILE, in the format of its suffix; may be given "
		 "several times; - is stdout",
		 &convert.outputs},
		{"format", 0, ARG_CHOICE(format_words()), "NAME",
		 "write this format: " FORMAT_NAMES_HELP, &convert.format},
		{"to", 0, ARG_CHOICE(format_words()), "NAME", "same as --format", &convert.format},
		SYMBOLIZE_ROW(&convert.selection),
		SELECTION_ROWS(&convert.selection),
		READING_ROWS(&reading),
	};
	struct args args scoped(args_release) = {
		.command = "convert",
		.operands = "[FILE...] -o FILE",
		.needs_file = true,
		.implied = &newest_operand,
		.about =
			"Convert profiles to another format. The input format is detected from "
			"the content. Several files are merged; - is stdin. The suffix chooses the "
			"output format: " FORMAT_SUFFIXES_HELP,
		.rows = rows,
		.nr_rows = ARRAY_SIZE(rows),
		.epilog = "Exit codes: 0 success, 2 usage error, a file cannot be read or written, "
			  "or the format "
			  "cannot express the profile.",
	};
	enum exit_code code;

	return reading_begin(&reading, &args, argc, argv, &code)
		       ? convert_paths(&convert, &args.operand)
		       : code;
}
