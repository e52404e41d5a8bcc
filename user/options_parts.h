/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stages of reading a collecting command's options: the table, and the checks of all of them together.
 * Private to options*.c, where options.c calls one stage after the other.
 */
#ifndef CPROF_OPTIONS_PARTS_H
#define CPROF_OPTIONS_PARTS_H

#include "base/vec.h"
#include "cli/args.h"
#include "options.h"

#define OPTIONS_ROWS_MAX 80 /* at least as many as the table has */

/* What max_overhead is where it was not given, until it is known whose it is; with -a; and otherwise. */
#define OVERHEAD_NOT_GIVEN -1.0
#define OVERHEAD_OF_ALL	   10.0
#define OVERHEAD_ANY	   100.0

/* What was given of the options that mean something only together; texts are borrowed from argv. */
struct options_parsing {
	struct options *options; /* where the others are stored */
	struct arg_list outputs, formats, filters[NR_TARGETSPEC_FILTERS], debug_dirs;
	bool inuse, alloc, views, peak, leaks;
};

struct options_table {
	struct arg_row rows[OPTIONS_ROWS_MAX];
	size_t nr;
};

/* The rows of command, which store what they are given in *parsing and its options. */
void options_table_make(enum options_command command, struct options_parsing *parsing,
			struct options_table *table);

/* Fills in what follows from several options together, once all are read. -EINVAL: they contradict, printed. */
int options_complete(struct options_parsing *parsing);
/* Checks that the options choose targets, and in one way; notes whether the command is one. -EINVAL: none or several, printed. */
int options_check_targets(struct options *options);

#endif
