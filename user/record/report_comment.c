// SPDX-License-Identifier: BSD-2-Clause
/*
 * The comment of a profile: what it covers of a run, and its accounts, in one line.
 */
#include "record/report.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"

void report_losses_text(const struct report_losses *losses, char *text, size_t text_bytes)
{
	char reasons[512] = "";
	size_t len = 0;

	for (size_t i = 0; i < losses->nr && len < sizeof(reasons); i++)
		len += snprintf(reasons + len, sizeof(reasons) - len, "%s%s %s", len ? ", " : "",
				losses->at[i].reason, text_count(losses->at[i].nr));
	snprintf(text, text_bytes, losses->nr ? " + lost %s (%s)" : "", text_count(losses->sum),
		 reasons);
}

void report_gone_text(enum heap_view view, uint64_t nr_gone, char *text, size_t text_bytes)
{
	snprintf(text, text_bytes, nr_gone ? " + not %s %s" : "",
		 view == VIEW_PEAK    ? "in use at the peak"
		 : view == VIEW_LEAKS ? "suspected"
				      : "in use any more",
		 text_count(nr_gone));
}

/* Samples that were lost from the start on. One that was in use when it was lost may be so still. */
static uint64_t nr_lost(const struct report *report, const struct report_part *part)
{
	struct report_losses all;

	report_losses(report, false, &all);
	return all.sum > part->lost.sum ? all.sum : part->lost.sum;
}

static bool is_heap(const struct report *report)
{
	return report->options->command == OPTIONS_HEAP;
}

enum bound report_alloc_bound(const struct report *report, const struct report_part *part)
{
	return is_heap(report) && !heap_view_is_moment(part->view) && part->lost.sum ? BOUND_LEAST
										     : BOUND_NONE;
}

enum bound report_inuse_bound(const struct report *report, const struct report_part *part)
{
	unsigned int bound = BOUND_NONE;

	if (!is_heap(report) || !heap_view_shows_inuse(part->view))
		return BOUND_NONE;
	if (nr_lost(report, part))
		bound |= BOUND_LEAST;
	if (report->tally->nr_frees_lost)
		bound |= BOUND_MOST;
	return bound;
}

/*
 * "; allocated is at least this; in use is about this: it lacks up to 13 sampled blocks (live map full), and 2 frees were lost" for
 * the reader of the figures; "" if there is nothing to say. Up to: some of them may have been freed since, unseen.
 */
static void describe_bounds(const struct report *report, const struct report_part *part, char *text,
			    size_t text_bytes)
{
	enum bound alloc = report_alloc_bound(report, part),
		   inuse = report_inuse_bound(report, part);
	uint64_t nr = nr_lost(report, part), nr_frees = report->tally->nr_frees_lost;
	char lacks[96] = "", frees[64] = "", word[64];
	size_t len = 0;

	*text = '\0';
	if (alloc)
		len = snprintf(text, text_bytes, "; %s",
			       bound_say("allocated", alloc, word, sizeof(word)));
	if (!inuse)
		return;
	if (nr)
		snprintf(lacks, sizeof(lacks), "it lacks up to %s sampled blocks%s", text_count(nr),
			 nr == report->tally->nr_untracked ? " (live map full)" : "");
	if (nr_frees)
		snprintf(frees, sizeof(frees), "%s%s frees were lost", nr ? ", and " : "",
			 text_count(nr_frees));
	snprintf(text + len, text_bytes - len, "; %s: %s%s",
		 bound_say("in use", inuse, word, sizeof(word)), lacks, frees);
}

/* ", in use at the peak of 12,345 bytes at 2.345 s", or at those of several processes. */
static void describe_peak(const struct report *report, const struct report_part *part, char *text,
			  size_t text_bytes)
{
	const char *bound = bound_word(report_inuse_bound(report, part));

	if (part->peak_ns)
		snprintf(text, text_bytes, ", in use at the peak of %s%s bytes at %.3f s", bound,
			 text_count(part->peak_bytes), part->peak_ns / 1e9);
	else
		snprintf(text, text_bytes,
			 ", in use at the peak of each process, %s%s bytes in sum", bound,
			 text_count(part->peak_bytes));
}

/* "allocated from 1.000 to 2.000 s, in use at 2.000 s"; "" for all of a run. */
static void describe_span(const struct report *report, const struct report_part *part, char *text,
			  size_t text_bytes)
{
	bool of_heap = is_heap(report);
	double begin = part->begin_ns / 1e9, end = part->end_ns / 1e9;
	size_t len = 0;

	*text = '\0';
	if (part->view == VIEW_PEAK) {
		describe_peak(report, part, text, text_bytes);
		return;
	}
	if (part->view == VIEW_LEAKS) {
		snprintf(text, text_bytes, ", leaks at %.3f s", end);
		return;
	}
	if (part->view == VIEW_INUSE) {
		snprintf(text, text_bytes, ", in use at %.3f s", end);
		return;
	}
	if (part->is_whole)
		return;
	len = snprintf(text, text_bytes, ", %sfrom %.3f to %.3f s", of_heap ? "allocated " : "",
		       begin, end);
	if (of_heap && part->view == VIEW_ALL && len < text_bytes)
		snprintf(text + len, text_bytes - len, ", in use at %.3f s", end);
}

char *report_comment(const struct report *report, const struct report_part *part)
{
	const struct options *options = report->options;
	char losses[600], gone[64], span[128], bounds[256];
	uint64_t nr_shown = part->nr_written + part->nr_gone;

	report_losses_text(&part->lost, losses, sizeof(losses));
	report_gone_text(part->view, part->nr_gone, gone, sizeof(gone));
	describe_span(report, part, span, sizeof(span));
	describe_bounds(report, part, bounds, sizeof(bounds));
	return xasprintf("cprof " CPROF_VERSION " %s %lu%s: taken %s = written %s%s%s%s",
			 is_heap(report) ? "heap --rate" : "record -F",
			 is_heap(report) ? options->rate_bytes : options->frequency_hz, span,
			 text_count(nr_shown + part->lost.sum), text_count(part->nr_written), gone,
			 losses, bounds);
}
