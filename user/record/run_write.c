// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a run writes, in mid-run and at its end. The report is made first, from the session's counters; then come the
 * files and the closing lines. Samples that were drained but belong to no target count as filtered, as if BPF had
 * known: so the accounts are the same whether BPF or user space decides.
 */
#include "base/log.h"
#include "base/text.h"
#include "process/proctable.h"
#include "record/interrupt.h"
#include "record/run_state.h"

#define MAX_STUCK_SHOWN 3

struct report run_report(struct run *run, struct tally *tally, uint64_t now_ns)
{
	struct report report = {
		.options = run->options,
		.duration_ns = now_ns - run->schedule.started_ns,
		.tally = tally,
		.builder = run->builder,
		.nosamples = &run->nosamples,
		.is_inside = run->preload.path,
	};

	if (run_is_heap(run) && !run_is_everybody(run))
		report.managed = run->prober.managed;
	session_tally(run->session, tally);
	tally->nr_filtered += run->dispatch.nr_unwanted; /* as if BPF had known */
	if (run->targets.all.nr)
		report.main_process = tasks_image(run->tasks, run->targets.all.at[0].tgid, 0,
						  run->schedule.started_ns)
					      ->process;
	return report;
}

int run_write_files(struct run *run, enum moment moment, const struct report *report,
		    uint64_t now_ns)
{
	struct writing writing = {
		.symbolizer = naming_symbolizer(&run->naming), .report = report, .now_ns = now_ns};

	return writer_write(&run->writer, moment, &writing);
}

/* How many that are is said with the other reasons: those without a copy of the stack cannot be finished anyway. */
static void say_unknown(const struct run *run)
{
	if (tablesync_nr_unknown(run->tablesync))
		warn("stopped before all code was read: some stacks are truncated ([truncated: "
		     "code not known yet])");
}

/* How many sampled processes have mappings that cprof may not read; one of them. */
static size_t nr_forbidden(const struct run *run, const struct process **example)
{
	size_t nr = 0;

	for (size_t i = 0; i < tasks_nr(run->tasks); i++) {
		const struct process *process = tasks_at(run->tasks, i);

		if (!process->was_forbidden || !process->is_sampled)
			continue;
		*example = process;
		nr++;
	}
	return nr;
}

/* What is missing, so that code has no names. */
static void say_forbidden(const struct run *run)
{
	const struct process *example = NULL;
	size_t nr_files = files_nr_forbidden(run->files), nr = nr_forbidden(run, &example);
	const char *lacks = *run->lacks ? run->lacks : "permission denied";
	char safe[64];

	if (nr)
		warn("the mappings of %s sampled process%s %u (%s) cannot be read, so %s code has "
		     "no "
		     "names: %s (PRIVILEGES in cprof-record(1)).",
		     text_count(nr), nr > 1 ? "es, such as" : ",", example->tgid,
		     text_escape(process_last_image(example)->comm, safe, sizeof(safe)),
		     nr > 1 ? "their" : "its", lacks);
	if (nr_files)
		warn("%s files could not be opened, so their code has no names: %s (PRIVILEGES in "
		     "cprof-record(1)).",
		     text_count(nr_files), lacks);
}

/* The name of a process as it is known last; "?" if it is not. */
static const char *comm_of(const struct run *run, uint32_t tgid)
{
	for (size_t i = tasks_nr(run->tasks); i-- > 0;)
		if (tasks_at(run->tasks, i)->tgid == tgid)
			return process_last_image(tasks_at(run->tasks, i))->comm;
	return "?";
}

/* Whose mappings, memory or files could not be looked at, because nobody answered. */
static void say_stuck(const struct run *run)
{
	size_t nr = run->opener ? opener_nr_stuck(run->opener) : 0;
	char safe[64];

	for (size_t i = 0; i < nr && i < MAX_STUCK_SHOWN; i++) {
		uint32_t task = opener_stuck(run->opener, i);

		if (!task)
			warn("a file system did not answer: files of the command, or debug files, "
			     "were not read");
		else
			warn("process %u (%s) or the file system of its files did not answer: code "
			     "there may have no names and no unwind info",
			     task, text_escape(comm_of(run, task), safe, sizeof(safe)));
	}
	if (nr > MAX_STUCK_SHOWN)
		warn("nor did %s other processes", text_count(nr - MAX_STUCK_SHOWN));
	if (run->opener && opener_is_lost(run->opener))
		warn("the process that opens files was killed or stopped, and could not be "
		     "replaced: code in "
		     "other files has no names");
}

int run_write_profiles(struct run *run)
{
	struct tally tally;
	struct report report = run_report(run, &tally, run->stopped_ns);
	int code, said;

	detail("stacks finished in user space: %s",
	       text_count(tablesync_nr_completed(run->tablesync)));
	say_unknown(run);
	say_forbidden(run);
	say_stuck(run);
	code = run_write_files(run, MOMENT_END, &report, run->stopped_ns);
	writer_settle(&run->writer);
	interrupt_set_phase(INTERRUPT_WRITTEN);
	naming_say(&run->naming);
	run_say_unprobed(run);
	said = report_say(&report, &run->writer);
	if (said)
		return said;
	code = code ? code : (int)run->write_code;
	return !code && run->limit.reached > 0 ? EXIT_LIMIT : code;
}
