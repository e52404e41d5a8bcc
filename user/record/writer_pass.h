/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One pass of the writer: one view, of every process. Private to writer.c, which decides what files there are, and
 * writer_file.c, which writes one of them.
 */
#ifndef CPROF_RECORD_WRITER_PASS_H
#define CPROF_RECORD_WRITER_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "record/builder.h"
#include "record/report.h"
#include "record/writer.h"

/* One of the views of a heap that the options choose. */
struct view {
	enum options_view option;
	enum heap_view view;
	const char *word; /* in file names; NULL: none */
};

/* What the steps of writing one view share. */
struct pass {
	struct writer *writer;
	const struct writing *writing;
	const struct view *view;
	struct report_part part;
	const char *comment;
	uint64_t nr_files;
	unsigned int number;
	bool is_main;	/* its files are those of the accounts */
	bool is_single; /* there is one process only */
};

/* One process, or all of them: what goes into one file of each format. */
struct unit {
	const struct built_process *process; /* NULL: all of them in one */
	unsigned int turn;		     /* how many before it had the same tgid */
	bool is_named;			     /* the file's name says which process it is */
};

/*
 * Writes built as one file: of unit, in the format of options->targets.at[target]. Says what it wrote, and counts it
 * in pass. -errno, printed.
 */
int writer_write_file(struct pass *pass, const struct unit *unit, const struct built *built,
		      size_t target);

#endif
