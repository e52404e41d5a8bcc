// SPDX-License-Identifier: BSD-2-Clause
/*
 * The accounts have two independent sides: what was taken comes from the kernel's counters, what was written and lost
 * from the builder. If the sums differ, the closing lines say so. Losses are kept as sums since the start; those of
 * one window are the difference of two sums, reason by reason.
 */
#include "record/report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "record/overhead.h"
#include "record/writer.h"

/* Of stacks that are not whole, shown without -v. */
#define MAX_REASONS 5

static void add_loss(struct report_losses *losses, const char *reason, uint64_t nr)
{
	if (!nr)
		return;
	losses->at[losses->nr++] = (struct tally_loss){reason, nr};
	losses->sum += nr;
}

void report_losses(const struct report *report, bool is_end, struct report_losses *losses)
{
	const struct tally *tally = report->tally;

	*losses = (struct report_losses){0};
	for (size_t i = 0; i < tally->nr_losses; i++)
		add_loss(losses, tally->losses[i].reason, tally->losses[i].nr);
	for (int i = 0; i < NR_DROP_REASONS; i++)
		if (is_end || i != DROP_NO_RECORD)
			add_loss(losses, drop_reason_text(i), builder_dropped(report->builder, i));
}

static uint64_t nr_lost_for(const struct report_losses *losses, const char *reason)
{
	for (size_t i = 0; i < losses->nr; i++)
		if (!strcmp(losses->at[i].reason, reason))
			return losses->at[i].nr;
	return 0;
}

void report_losses_since(struct report_losses *losses, const struct report_losses *before)
{
	struct report_losses since = {0};

	for (size_t i = 0; i < losses->nr; i++)
		add_loss(&since, losses->at[i].reason,
			 losses->at[i].nr - nr_lost_for(before, losses->at[i].reason));
	*losses = since;
}

static bool is_heap(const struct report *report)
{
	return report->options->command == OPTIONS_HEAP;
}

static uint64_t nr_taken(const struct report *report)
{
	const struct tally *tally = report->tally;

	if (is_heap(report))
		return tally->nr_sampled - tally->nr_failed - tally->nr_cut_off -
		       tally->nr_under_way;
	return tally->nr_ticks - tally->nr_filtered;
}

/* How whole the user stacks are, and why the others are not: the main reasons, or all with -v. */
static void say_ends(const struct report *report, struct builder *builder)
{
	const struct built_end *ends;
	uint64_t nr_all = 0, nr_whole;
	size_t nr, nr_shown;

	ends = builder_ends(builder, &nr);
	for (size_t i = 0; i < nr; i++)
		nr_all += ends[i].nr;
	nr_whole = nr ? ends[0].nr : 0;
	if (nr_whole < nr_all || log_is_verbose())
		say("complete stacks: %s of %s (%.2f %%)", text_count(nr_whole), text_count(nr_all),
		    nr_all ? 100.0 * nr_whole / nr_all : 100.0);
	nr_shown = log_is_verbose() || nr < MAX_REASONS ? nr : MAX_REASONS;
	for (size_t i = 1; i < nr_shown; i++)
		say("truncated stacks, %s: %s of %s (%.2f %%)", ends[i].why, text_count(ends[i].nr),
		    text_count(nr_all), 100.0 * ends[i].nr / nr_all);
	if (nr_shown < nr)
		say("truncated stacks, %zu other reasons (-v shows them)", nr - nr_shown);
	detail("user frames: %s", text_count(report->tally->nr_frames));
}

/* Of stacks with a runtime's functions, if there are any: how many have what is missing; with -v in any case. */
static void say_joined(struct builder *builder)
{
	struct builder_joined joined = builder_joined(builder);

	if (joined.nr_unpaired > joined.nr / 100 || joined.nr_gone > joined.nr_frames / 100)
		say("interpreted functions: of %s stacks, %s could not be paired with native ones; "
		    "of %s functions, %s have no name",
		    text_count(joined.nr), text_count(joined.nr_unpaired),
		    text_count(joined.nr_frames), text_count(joined.nr_gone));
	else if (joined.nr)
		detail("interpreted functions: %s stacks (not paired %s), %s functions (without a "
		       "name %s)",
		       text_count(joined.nr), text_count(joined.nr_unpaired),
		       text_count(joined.nr_frames), text_count(joined.nr_gone));
}

#define LEAST_MISSED 10 /* ticks, and one of each CPU, which is not due yet */

/* Of all CPUs: whose ticks they would have been is not known. Said from 1 % on. */
static void say_missed(const struct tally *tally)
{
	uint64_t nr = tally->nr_expected > tally->nr_ticks ? tally->nr_expected - tally->nr_ticks
							   : 0;

	if (nr < LEAST_MISSED + (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) ||
	    nr < tally->nr_expected / 100)
		return;
	warn("%s of %s ticks (%.1f %%) were missed, and times are too low by what ran then: the "
	     "kernel takes none on a CPU while bpf(2) or another BPF program runs there or "
	     "interrupts are off, nor while a virtual machine waits for a processor.",
	     text_count(nr), text_count(tally->nr_expected),
	     100.0 * (double)nr / (double)tally->nr_expected);
}

/* What the losses make of the figures. */
static void say_bounds(const struct report *report, const struct report_losses *lost)
{
	uint64_t nr_frees = report->tally->nr_frees_lost,
		 nr_untracked = report->tally->nr_untracked;
	char advice[160] = ".";

	if (nr_untracked)
		snprintf(
			advice, sizeof(advice),
			", %s of them because the map of live blocks was full. Use a higher --rate "
			"or --max-blocks.",
			nr_untracked < lost->sum ? text_count(nr_untracked) : "all");
	if (lost->sum)
		warn("allocated values are lower bounds: they lack %s sampled allocations.",
		     text_count(lost->sum));
	if (report->options->allocs_only)
		return;
	if (lost->sum && nr_frees)
		warn("values in use are about right: they lack up to %s sampled blocks, and %s "
		     "frees "
		     "were lost.",
		     text_count(lost->sum), text_count(nr_frees));
	else if (lost->sum)
		warn("values in use are lower bounds: they lack up to %s sampled blocks%s",
		     text_count(lost->sum), advice);
	else if (nr_frees)
		warn("values in use are upper bounds: %s frees were lost.", text_count(nr_frees));
}

static void say_accounts(const struct report *report, const struct writer *writer)
{
	const struct tally *tally = report->tally;
	uint64_t nr_written = writer->nr_written, nr_gone = writer->nr_gone;
	char losses[600], gone[64];
	struct report_losses lost;

	if (report->options->command == OPTIONS_HEAP) {
		detail("calls %s = nested %s + not sampled %s + failed %s + cut off %s + "
		       "under way %s + taken %s",
		       text_count(tally->nr_calls), text_count(tally->nr_nested),
		       text_count(tally->nr_unsampled), text_count(tally->nr_failed),
		       text_count(tally->nr_cut_off), text_count(tally->nr_under_way),
		       text_count(nr_taken(report)));
		/* The last two are purged from the kernel's map; who exits still holds what it leaves. */
		detail("stored %s = live %s + freed %s + frees lost %s + purged %s (left at exit "
		       "%s, gone by exec %s)",
		       text_count(tally->nr_stored), text_count(tally->nr_live),
		       text_count(tally->nr_freed), text_count(tally->nr_frees_lost),
		       text_count(tally->nr_left + tally->nr_purged), text_count(tally->nr_left),
		       text_count(tally->nr_purged));
	} else {
		detail("ticks %s (%s expected) = filtered %s + taken %s",
		       text_count(tally->nr_ticks), text_count(tally->nr_expected),
		       text_count(tally->nr_filtered), text_count(nr_taken(report)));
	}
	say_ends(report, report->builder);
	say_joined(report->builder);
	report_losses(report, true, &lost);
	report_losses_text(&lost, losses, sizeof(losses));
	report_gone_text(writer_main_view(writer), nr_gone, gone, sizeof(gone));
	say("taken %s = written %s%s%s", text_count(nr_taken(report)), text_count(nr_written), gone,
	    losses);
	if (nr_taken(report) != nr_written + nr_gone + lost.sum)
		warn("%s samples are not accounted for: please report this bug.",
		     text_count(nr_taken(report) - nr_written - nr_gone - lost.sum));
	if (report->options->command != OPTIONS_HEAP)
		say_missed(tally);
	if (tally->nr_events_lost)
		warn("the kernel dropped %s process events: some names may be missing.",
		     text_count(tally->nr_events_lost));
	if (is_heap(report))
		say_bounds(report, &lost);
}

/* What the sentence begins with. */
static const char *nothing_word(const struct report *report)
{
	return report->options->allow_empty ? "no sample" : "nothing to write";
}

/* Nothing was allocated, or nobody could see it. */
static void complain_of_no_allocation(const struct report *report)
{
	const char *what = nothing_word(report);
	uint64_t nr_calls = report->tally->nr_calls;
	double seconds = report->duration_ns / 1e9;
	char child[256], words[256], halted[NOSAMPLES_BYTES];

	nosamples_busy_child(report->nosamples, "use --follow-fork", child, sizeof(child));
	nosamples_halted(report->nosamples, halted, sizeof(halted));
	if (report->managed)
		warn("%s: the target is %s; malloc allocates %s.", what, report->managed->what,
		     managed_words(report->managed, words, sizeof(words)));
	else if (nr_calls)
		warn("%s: %s allocations in %.1f s, none of them sampled: use a lower --rate.",
		     what, text_count(nr_calls), seconds);
	else if (*halted)
		warn("%s: no call of malloc in %.1f s: %s.", what, seconds, halted);
	else if (report->is_inside)
		warn("%s: no allocation was sampled in %.1f s: use a lower --rate, or the program "
		     "allocates nothing.",
		     what, seconds);
	else if (*child)
		warn("%s: no call of malloc in %.1f s. %s.", what, seconds, child);
	else
		warn("%s: no call of malloc in %.1f s: the program allocates nothing, or uses its "
		     "own allocator.",
		     what, seconds);
}

static void complain_of_no_tick(const struct report *report)
{
	const struct process *process = report->main_process;
	const struct targetspec *spec = &report->options->spec;
	const char *what = nothing_word(report);
	double seconds = report->duration_ns / 1e9;
	char words[NOSAMPLES_BYTES], child[256];

	nosamples_busy_child(report->nosamples, "omit --no-children", child, sizeof(child));
	if (!process)
		warn("%s: no %sprocess was on a CPU at any tick in %.1f s.", what,
		     targetspec_filters(spec) || targetspec_names(spec) ? "matching " : "",
		     seconds);
	else if (process->exited_ns)
		warn("%s: process %u exited after %.1f s without being on a CPU at any tick: use a "
		     "higher -F.",
		     what, process->tgid, seconds);
	else
		warn("%s: process %u %s.%s%s%s", what, process->tgid,
		     nosamples_words(report->nosamples, report->duration_ns, words, sizeof(words)),
		     *child ? " " : "", child, *child ? "." : "");
}

/* No sample at all: the one thing a user must not find out from an empty file. */
static enum exit_code complain_of_nothing(const struct report *report, const struct writer *writer)
{
	bool is_allowed = report->options->allow_empty;
	const char *what = nothing_word(report);

	if (writer->nr_gone)
		warn("%s: none of %s sampled allocations is still in use.", what,
		     text_count(writer->nr_gone));
	else if (nr_taken(report))
		warn("all %s samples were lost.", text_count(nr_taken(report)));
	else if (report->options->command == OPTIONS_HEAP)
		complain_of_no_allocation(report);
	else
		complain_of_no_tick(report);
	return is_allowed ? EXIT_DONE : EXIT_NOTHING;
}

/* What a reader shows first of a heap profile is what is in use. */
static void say_next(const struct report *report, const struct writer *writer)
{
	const struct options *options = report->options;
	bool holds_nothing = options->command == OPTIONS_HEAP && writer->holds_nothing;
	char safe[PATH_MAX];

	if (holds_nothing && !options->allocs_only)
		say("nothing is in use at the end: try --sample-type alloc_space, or record with "
		    "--peak");
	if (writer->main_file)
		say("next: cprof top %s%s", holds_nothing ? "--sample-type alloc_space " : "",
		    text_escape(writer->main_file, safe, sizeof(safe)));
}

enum exit_code report_say(const struct report *report, const struct writer *writer)
{
	char words[256];

	if (nr_taken(report))
		say_accounts(report, writer);
	if (report->tally->nr_left_out)
		warn("%s processes are not in the profile: there were too many at a time. -a has "
		     "no such "
		     "limit.",
		     text_count(report->tally->nr_left_out));
	overhead_say(&report->tally->overhead, report->options->all);
	if (nr_taken(report) && report->managed)
		say("the target is %s: the profile has only what it allocates with malloc, "
		    "which includes %s",
		    report->managed->what, managed_words(report->managed, words, sizeof(words)));
	if (!writer->nr_written && nr_taken(report) && writer_main_view(writer) == VIEW_LEAKS)
		return EXIT_DONE; /* no leak was found, which was said */
	if (!writer->nr_written)
		return complain_of_nothing(report, writer);
	if (writer->series[MARK_WINDOW].nr)
		say(report->options->command == OPTIONS_HEAP
			    ? "each file covers its own time: allocations of the files add up, "
			      "memory in use does not"
			    : "each file covers its own time: cprof merge adds them up");
	say_next(report, writer);
	return EXIT_DONE;
}
