// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decides which files there are: for each view that is due, for each process (or all together), for each format.
 * A profile is built once for all of its formats, and freed before the next one is built, so that memory holds one
 * at a time.
 *
 * Formats that hold one process only (one_process) get a file for each beside -o FILE; the others share it.
 */
#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "output/file.h"
#include "output/format.h"
#include "process/procfs.h"
#include "record/leakreport.h"
#include "record/resident.h"
#include "record/writer_pass.h"

#define PROC "/proc"

/* The main view is the first of those that are chosen. */
static const struct view views[] = {
	{OPTIONS_VIEW_ALL, VIEW_ALL, NULL},	   {OPTIONS_VIEW_ALLOC, VIEW_ALLOC, "alloc"},
	{OPTIONS_VIEW_INUSE, VIEW_INUSE, "inuse"}, {OPTIONS_VIEW_PEAK, VIEW_PEAK, "peak"},
	{OPTIONS_VIEW_LEAKS, VIEW_LEAKS, "leaks"}, {OPTIONS_VIEW_DELTA, VIEW_DELTA, "delta"},
};

enum heap_view writer_main_view(const struct writer *writer)
{
	size_t i = 0;

	while (!(writer->options->views & views[i].option))
		i++; /* there is always one */
	return views[i].view;
}

void writer_init(struct writer *writer, const struct options *options,
		 const struct outpath *outpath, struct builder *builder, uint64_t now_ns)
{
	*writer = (struct writer){.options = options,
				  .outpath = outpath,
				  .builder = builder,
				  .started_ns = now_ns,
				  .started_realtime_ns =
					  clock_realtime_ns() - (clock_monotonic_ns() - now_ns)};
	for (int i = 0; i < NR_MARKS; i++)
		writer->series[i].since_ns = now_ns;
}

void writer_release(struct writer *writer)
{
	free(writer->main_file);
	vec_for_each(&writer->memory, note)
		free(note->text);
	vec_release(&writer->memory);
}

/* Memory ----------------------------------------------------------------------------------------- */

static bool wants_records(const struct options *options)
{
	vec_for_each(&options->targets, target)
		if (target->format->one_process)
			return true;
	return false;
}

static struct memory_note *note_of(struct writer *writer, uint32_t tgid)
{
	vec_for_each(&writer->memory, note)
		if (note->tgid == tgid)
			return note;
	vec_push(&writer->memory, (struct memory_note){.tgid = tgid});
	return &writer->memory.at[writer->memory.nr - 1];
}

void writer_look(struct writer *writer, uint32_t tgid)
{
	struct memory_note *note;
	char *text;

	if (writer->options->command != OPTIONS_HEAP || !wants_records(writer->options) ||
	    procfs_memory(PROC, tgid, &text))
		return;
	note = note_of(writer, tgid);
	free(note->text);
	note->text = text;
}

static void add_memory(struct writer *writer, const struct process *process,
		       struct profile *profile)
{
	const struct memory_note *note;

	if (!process->exited_ns)
		writer_look(writer, process->tgid);
	note = note_of(writer, process->tgid);
	if (note->text)
		profile->memory = arena_strndup(&profile->arena, note->text, strlen(note->text));
}

/* One process, or all of them -------------------------------------------------------------------- */

/* Several processes in -o FILE: a format that cannot hold them has a file for each beside it. */
static bool suits(const struct pass *pass, const struct unit *unit, size_t i)
{
	bool one_process = pass->writer->options->targets.at[i].format->one_process;

	if (!pass->writer->outpath->file || pass->is_single)
		return true;
	return one_process == (unit->process != NULL);
}

/* Without a sample there is no file, but where it says beside others that nothing is in use. */
static bool has_file(const struct pass *pass, const struct built *built)
{
	bool is_beside = heap_view_is_moment(pass->view->view) ? !pass->is_main
							       : !pass->part.is_whole;
	bool says_inuse = pass->writer->options->command == OPTIONS_HEAP &&
			  pass->view->option &
				  (OPTIONS_VIEW_ALL | OPTIONS_VIEW_INUSE | OPTIONS_VIEW_PEAK);

	return built->profile->samples.nr || (is_beside && says_inuse) ||
	       pass->view->view == VIEW_LEAKS || /* that there are none is an answer, too */
	       pass->writer->options->allow_empty;
}

/* A file of VIEW_PEAK says of which moment it is, which is known once it is built. */
static void date_peak(const struct pass *pass, struct built *built)
{
	struct profile *profile = built->profile;
	struct report_part part = pass->part;
	char *comment scoped(freep) = NULL;

	part.peak_bytes = built->inuse.bytes;
	if (built->peak.at_ns) {
		part.peak_ns = built->peak.at_ns - pass->writer->started_ns;
		profile->time_ns = pass->writer->started_realtime_ns + part.peak_ns;
	}
	comment = report_comment(pass->writing->report, &part);
	profile->comments.at[0] = profile_string(profile, comment);
}

/* At the end, of the only process, if it still runs: in use, of the main view, against what is resident. */
static void say_resident(const struct pass *pass, const struct built *built)
{
	const struct writer *writer = pass->writer;
	const struct built_process *processes;
	size_t nr;

	processes = builder_processes(writer->builder, &nr);
	if (!pass->is_main || writer->options->command != OPTIONS_HEAP || nr != 1 ||
	    writer->options->allocs_only || processes[0].process->exited_ns)
		return;
	resident_say(PROC, processes[0].process->tgid,
		     &(struct resident_inuse){
			     .bytes = built->inuse.bytes,
			     .error_bytes = sqrt(built->inuse.bytes_variance),
			     .bound = report_inuse_bound(pass->writing->report, &pass->part),
		     });
}

/* One process, or all in one, in every format that suits. */
static int write_unit(struct pass *pass, const struct unit *unit)
{
	struct writer *writer = pass->writer;
	const struct report_part *part = &pass->part;
	bool is_moment = heap_view_is_moment(part->view);
	const struct process *process = unit->process ? unit->process->process : NULL;
	struct build_order order = {
		.process = process,
		.main_process = pass->writing->report->main_process,
		.time_ns =
			writer->started_realtime_ns + (is_moment ? part->end_ns : part->begin_ns),
		.duration_ns = is_moment ? 0 : part->end_ns - part->begin_ns,
		.comment = pass->comment,
		.view = part->view,
		.variances = writer->options->errors,
		.lifetimes = writer->options->lifetimes && part->is_whole && !is_moment,
		.records = process && wants_records(writer->options),
		.all_frames = writer->options->all_frames,
		.no_native = !writer->options->native,
	};
	struct built built;
	int err = 0;

	builder_build(writer->builder, pass->writing->symbolizer, &order, &built);
	if (part->view == VIEW_LEAKS && suits(pass, unit, 0)) /* once, with formats of both kinds */
		leakreport_say(writer->builder, built.profile,
			       report_inuse_bound(pass->writing->report, &pass->part));
	if (part->view == VIEW_PEAK)
		date_peak(pass, &built);
	if (order.records && writer->options->command == OPTIONS_HEAP)
		add_memory(writer, process, built.profile);
	for (size_t i = 0; i < writer->options->targets.nr; i++) {
		if (!suits(pass, unit, i))
			continue;
		if (pass->is_main && !i) {
			writer->nr_written += built.nr_written;
			writer->nr_gone += built.nr_gone;
			writer->holds_nothing &= built.inuse.bytes == 0;
		}
		if (has_file(pass, &built) && writer_write_file(pass, unit, &built, i))
			err = -EIO;
	}
	if (pass->is_single && !pass->number &&
	    (part->view == VIEW_ALL || part->view == VIEW_INUSE))
		say_resident(pass, &built);
	profile_free(built.profile);
	return err;
}

/* No process had a sample: the file is the target's, if there is one, or names no process. */
static int write_empty(struct pass *pass)
{
	const struct process *process = pass->writing->report->main_process;
	struct built_process target = {.process = process};
	bool in_file = pass->writer->outpath->file;

	if (!in_file && !process)
		return 0;
	if (process)
		target.comm = process->images.at[process->images.nr - 1]->comm;
	pass->is_single = true;
	return write_unit(
		pass, &(struct unit){.process = process ? &target : NULL, .is_named = !in_file});
}

/* One view of every process. */
static int write_view(struct pass *pass)
{
	const struct built_process *processes;
	bool in_file = pass->writer->outpath->file, any_alone = false, any_together = false;
	int err = 0;
	size_t nr;

	processes = builder_processes(pass->writer->builder, &nr);
	if (pass->view->view == VIEW_LEAKS && (nr || pass->writer->options->allow_empty))
		leakreport_say_none(pass->writer->builder);
	if (!nr && pass->writer->options->allow_empty)
		return write_empty(pass);
	pass->is_single = nr == 1;
	for (size_t i = 0; i < pass->writer->options->targets.nr; i++) {
		any_alone |= suits(pass, &(struct unit){.process = processes}, i);
		any_together |= suits(pass, &(struct unit){0}, i);
	}
	if (in_file && !pass->is_single && any_together)
		err = write_unit(pass, &(struct unit){0});
	for (size_t i = 0; i < nr && any_alone; i++) {
		struct unit unit = {.process = &processes[i],
				    .is_named = !in_file || !pass->is_single};

		for (size_t j = 0; j < i; j++)
			unit.turn += processes[j].process->tgid == processes[i].process->tgid;
		if (write_unit(pass, &unit))
			err = -EIO;
	}
	return err;
}

/* Moments ---------------------------------------------------------------------------------------- */

static bool is_due(enum moment moment, enum heap_view view)
{
	if (view == VIEW_LEAKS)
		return moment == MOMENT_END;
	return moment == MOMENT_END || (moment == MOMENT_DELTA) == (view == VIEW_DELTA);
}

static enum builder_mark mark_of(enum heap_view view)
{
	return view == VIEW_DELTA ? MARK_DELTA : MARK_WINDOW;
}

/* The number in a file's name; the last word of a run has none, unless it is the last delta of many. */
static unsigned int number_of(const struct writer *writer, enum moment moment, enum heap_view view)
{
	unsigned int nr = writer->series[mark_of(view)].nr;

	if (moment != MOMENT_END || (view == VIEW_DELTA && nr))
		return nr + 1;
	return 0;
}

static struct report_part part_of(const struct writer *writer, enum moment moment,
				  const struct writing *writing, enum heap_view view)
{
	const struct writer_series *series = &writer->series[mark_of(view)];
	bool is_end = moment == MOMENT_END;
	struct report_part part = {
		.view = view,
		.is_whole = is_end && series->since_ns == writer->started_ns,
		.begin_ns = series->since_ns - writer->started_ns,
		.end_ns = writing->now_ns - writer->started_ns,
	};

	builder_sum(writer->builder, view, &part.nr_written, &part.nr_gone);
	report_losses(writing->report, is_end, &part.lost);
	if (!heap_view_is_moment(view))
		report_losses_since(&part.lost, &series->lost);
	return part;
}

static void say_nothing_written(const struct pass *pass)
{
	const struct report_part *part = &pass->part;

	if (pass->number)
		say("file %u is not written: no sample from %.3f to %.3f s", pass->number,
		    part->begin_ns / 1e9, part->end_ns / 1e9);
	else if (!part->is_whole)
		say("the last file is not written: no sample from %.3f to %.3f s",
		    part->begin_ns / 1e9, part->end_ns / 1e9);
}

/* The piece that is under way is over, the next one begins. */
static void begin_piece(struct writer *writer, enum builder_mark mark,
			const struct writing *writing)
{
	struct writer_series *series = &writer->series[mark];

	builder_mark(writer->builder, mark);
	report_losses(writing->report, false, &series->lost);
	series->since_ns = writing->now_ns;
	series->nr++;
}

static void find_leaks(struct writer *writer, const struct writing *writing)
{
	const struct build_order order = {.all_frames = writer->options->all_frames,
					  .no_native = !writer->options->native};

	builder_find_leaks(writer->builder, writing->symbolizer, &order,
			   writer->options->leak_age_ns);
}

/* Once, as leaks are in no file before the end. */
static void say_no_leaks(struct writer *writer)
{
	if (!writer->has_said && writer->options->views & OPTIONS_VIEW_LEAKS)
		say("leaks are found only at the end of the run: no file of a window has them "
		    "(--leaks)");
	writer->has_said = true;
}

enum exit_code writer_write(struct writer *writer, enum moment moment,
			    const struct writing *writing)
{
	const struct view *main_view = NULL;
	enum exit_code code = EXIT_DONE;

	if (moment != MOMENT_END && writer->outpath->file &&
	    output_is_stdout(writer->outpath->file)) {
		say("no file is written before the end: -o - writes a single file");
		return EXIT_DONE;
	}
	if (moment == MOMENT_SNAPSHOT)
		say_no_leaks(writer);
	if (moment == MOMENT_END && writer->options->views & OPTIONS_VIEW_LEAKS)
		find_leaks(writer, writing);
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		enum heap_view view = views[i].view;
		char *comment scoped(freep) = NULL;
		struct pass pass = {.writer = writer, .writing = writing, .view = &views[i]};

		if (!(writer->options->views & views[i].option))
			continue;
		if (!main_view)
			main_view = &views[i];
		if (!is_due(moment, view))
			continue;
		pass.number = number_of(writer, moment, view);
		pass.part = part_of(writer, moment, writing, view);
		pass.comment = comment = report_comment(writing->report, &pass.part);
		pass.is_main = main_view == &views[i] &&
			       (moment != MOMENT_SNAPSHOT || !heap_view_is_moment(view));
		if (pass.is_main)
			writer->holds_nothing = view == VIEW_ALL;
		if (write_view(&pass))
			code = EXIT_USAGE;
		else if (main_view == &views[i] && !pass.nr_files)
			say_nothing_written(&pass);
	}
	if (moment != MOMENT_END)
		begin_piece(writer, moment == MOMENT_DELTA ? MARK_DELTA : MARK_WINDOW, writing);
	return code;
}

void writer_settle(const struct writer *writer)
{
	if (writer->main_file)
		utimensat(AT_FDCWD, writer->main_file, NULL, AT_SYMLINK_NOFOLLOW);
}
