/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the closing lines of a run, which account for every sample:
 *
 *	cprof: taken 29,703 = written 29,690 + lost 13 (event ring full 13)
 *	cprof: next: cprof top cprof.cpu.python3.4711.pb.gz
 *
 * The comment of each profile says the same of what that profile covers.
 */
#ifndef CPROF_RECORD_REPORT_H
#define CPROF_RECORD_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "collect/session.h"
#include "record/nosamples.h"
#include "exit.h"
#include "heap/managed.h"
#include "options.h"
#include "profile/bound.h"
#include "record/builder.h"

struct writer;

struct report {
	const struct options *options;
	const struct process *main_process; /* the target; NULL with -a */
	uint64_t duration_ns;
	const struct tally *tally;
	struct builder *builder;
	const struct nosamples *nosamples; /* why the target may not have been seen */
	bool is_inside;			   /* heap: targets sample by themselves */
	const struct managed *managed; /* heap: a runtime that does not pass malloc; NULL: none */
};

/* What was lost so far, by reasons. */
struct report_losses {
	struct tally_loss at[TALLY_MAX_LOSSES + NR_DROP_REASONS];
	size_t nr;
	uint64_t sum;
};
/* Lists what was lost so far. is_end: counts without a record are lost too; before the end the record may still come. */
void report_losses(const struct report *report, bool is_end, struct report_losses *losses);
/* Subtracts before, the losses at an earlier moment, from losses. */
void report_losses_since(struct report_losses *losses, const struct report_losses *before);
/* " + lost 13 (event ring full 13)"; "" if there is nothing to say. */
void report_losses_text(const struct report_losses *losses, char *text, size_t text_bytes);
/* " + not in use any more 12"; "" if there is nothing to say. */
void report_gone_text(enum heap_view view, uint64_t nr_gone, char *text, size_t text_bytes);

/* What the files of one view, written at one moment, cover of a run, and their accounts. */
struct report_part {
	enum heap_view view;
	bool is_whole;		   /* all of a run that is over */
	uint64_t begin_ns, end_ns; /* since sampling began; of what is in use only the end counts */
	uint64_t nr_written, nr_gone;
	struct report_losses lost;
	/* VIEW_PEAK, of one file: how high, and when since sampling began; 0: each process at its own time. */
	uint64_t peak_bytes, peak_ns;
};
/* Of what was allocated in a part, and of what is in use at its end. */
enum bound report_alloc_bound(const struct report *report, const struct report_part *part);
enum bound report_inuse_bound(const struct report *report, const struct report_part *part);
/*
 * The one line of such files: "cprof 0.1.0 record -F 99, from 1.000 to 2.000 s: taken 99 = written 99".
 * Owned by the caller.
 */
char *report_comment(const struct report *report, const struct report_part *part);

/*
 * Prints the closing lines. Returns EXIT_DONE, or EXIT_NOTHING (with the reason printed) if nothing was written and an
 * empty file is not allowed.
 */
enum exit_code report_say(const struct report *report, const struct writer *writer);

#endif
