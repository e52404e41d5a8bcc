// SPDX-License-Identifier: BSD-2-Clause
/*
 * One file of a run: encodes it, and says what was written. The encoder streams into a temporary file that takes the
 * final name only when it is complete, so that a reader never sees half a profile.
 */
#include "record/writer_pass.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "output/file.h"
#include "output/format.h"
#include "profile/algebra.h"
#include "profile/prune.h"

static bool has_one_view(const struct options *options)
{
	return !(options->views & (options->views - 1));
}

static int write_file(const struct pass *pass, const struct profile *profile,
		      const struct output_format *format, const char *path)
{
	struct output_file *file;
	int err;

	if (output_is_stdout(path)) {
		signal(SIGPIPE,
		       SIG_IGN); /* it is an error, and all that follows is still to be said */
		err = format->encode(profile, format_main_type(format, profile),
				     output_stdout_write, NULL);
		return err ? fail(err, "cannot write to standard output") : 0;
	}
	err = outpath_create(pass->writer->outpath, path, &file);
	if (err)
		return output_file_fail(err, path);
	if (pass->number)
		output_file_do_not_wait(file);
	err = format->encode(profile, format_main_type(format, profile), output_file_write, file);
	if (err) {
		output_file_abandon(file);
		return fail(err, "cannot write '%s'", path);
	}
	err = output_file_commit(file);
	return err ? fail(err, "cannot write '%s'", path) : 0;
}

static const char *inuse_word(const struct pass *pass)
{
	return bound_word(report_inuse_bound(pass->writing->report, &pass->part));
}

/* What was written, in the unit that a reader would think in. */
static void say_written(const struct pass *pass, const char *path, const struct built *built,
			const struct built_process *process, bool is_main)
{
	const struct options *options = pass->writer->options;
	char of_whom[128], comm[4 * COMM_BYTES], safe[PATH_MAX];
	size_t nr_processes;
	const char *verb = is_main ? "wrote" : "also wrote";
	const char *count = text_count(built->nr_written);

	if (process)
		snprintf(of_whom, sizeof(of_whom), "%s (%u)",
			 text_escape(process->comm, comm, sizeof(comm)), process->process->tgid);
	else {
		builder_processes(pass->writer->builder, &nr_processes);
		snprintf(of_whom, sizeof(of_whom), "%s processes", text_count(nr_processes));
	}
	text_escape(output_is_stdout(path) ? "standard output" : path, safe, sizeof(safe));
	if (pass->view->view == VIEW_PEAK && built->peak.at_ns)
		say("%s %s: %s sampled blocks in use at the peak of %s, %s%s bytes at %.3f s", verb,
		    safe, count, of_whom, inuse_word(pass), text_count(built->inuse.bytes),
		    (built->peak.at_ns - pass->writer->started_ns) / 1e9);
	else if (options->command == OPTIONS_HEAP)
		say("%s %s: %s%s sampled %s of %s", verb, safe,
		    heap_view_is_moment(pass->view->view) ? inuse_word(pass) : "", count,
		    pass->view->view == VIEW_INUSE   ? "blocks in use"
		    : pass->view->view == VIEW_PEAK  ? "blocks in use at the peaks"
		    : pass->view->view == VIEW_LEAKS ? "blocks that may be leaked"
						     : "allocations",
		    of_whom);
	else
		say("%s %s: %s sample%s of %s, %.2f s on the CPU", verb, safe, count,
		    built->nr_written == 1 ? "" : "s", of_whom,
		    (double)built->nr_written / options->frequency_hz);
}

static void say_error(const char *what, enum bound bound, const struct scale_sum *sum)
{
	say("estimate: %s %s%s bytes, standard error %s (%.2f %%)", what, bound_word(bound),
	    text_count(scale_round(sum->bytes)), text_count(scale_round(sqrt(sum->bytes_variance))),
	    100 * sqrt(sum->bytes_variance) / sum->bytes);
}

/* The estimates of a whole file, and how far off they may be. */
static void say_errors(const struct pass *pass, const struct built *built)
{
	const struct report *report = pass->writing->report;
	enum heap_view view = pass->view->view;

	if (!heap_view_is_moment(view) && built->alloc.bytes > 0)
		say_error("allocated", report_alloc_bound(report, &pass->part), &built->alloc);
	if (heap_view_shows_inuse(view) && built->inuse.bytes > 0)
		say_error("in use", report_inuse_bound(report, &pass->part), &built->inuse);
}

int writer_write_file(struct pass *pass, const struct unit *unit, const struct built *built,
		      size_t i)
{
	struct writer *writer = pass->writer;
	const struct options_target *target = &writer->options->targets.at[i];
	const struct built_process *process = unit->process;
	struct outpath_name name = {
		.comm = process ? process->comm : "",
		.tgid = unit->is_named ? process->process->tgid : 0,
		.turn = unit->turn,
		.view = has_one_view(writer->options) ? NULL : pass->view->word,
		.number = pass->number,
		.suffix = target->format->suffixes[0],
		.file = writer->outpath->file ? target->file : NULL,
	};
	char *path scoped(freep) = outpath_path(writer->outpath, &name);
	struct profile *pruned = NULL;
	bool is_main = pass->is_main && !i;
	int err;

	if (name.tgid && name.file && output_is_stdout(name.file))
		return fail(-EINVAL,
			    "-o -: format %s holds only one process, and there are several: use -o "
			    "FILE.",
			    target->format->name);
	/* Readers of pprof files and of addresses drop frames; others show what they are given. */
	if (!target->format->is_pprof && !target->format->one_process &&
	    !writer->options->all_frames)
		profile_pruned_copy(built->profile, &pruned);
	err = write_file(pass, pruned ? pruned : built->profile, target->format, path);
	profile_free(pruned);
	if (err)
		return err;
	pass->nr_files++;
	say_written(pass, path, built, process, is_main);
	if (is_main && writer->options->errors)
		say_errors(pass, built);
	if (pass->is_main && !writer->main_file && target->format->is_pprof &&
	    !output_is_stdout(path))
		writer->main_file = xstrdup(path);
	return 0;
}
