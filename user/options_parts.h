/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stages of reading a collecting command's options: the table, one value, all of them together.
 * Private to options*.c, where options.c calls one stage after the other.
 */
#ifndef CPROF_OPTIONS_PARTS_H
#define CPROF_OPTIONS_PARTS_H

#include <getopt.h>

#include "base/vec.h"
#include "options.h"

/* What getopt returns for options without a letter: above every character. */
enum {
	OPT_RATE = 256,
	OPT_ALLOC_ONLY,
	OPT_FOLLOW_FORK,
	OPT_NO_CHILDREN,
	OPT_COMM,
	OPT_CGROUP,
	OPT_CONTAINER,
	OPT_UID,
	OPT_KERNEL,
	OPT_NO_KERNEL,
	OPT_LIMIT,
	OPT_CAPTURES,
	OPT_INUSE,
	OPT_ALLOC,
	OPT_DELTA,
	OPT_VIEWS,
	OPT_INTERVAL,
	OPT_FORMAT,
	OPT_ERRORS,
	OPT_ALL_FRAMES,
	OPT_ALLOW_EMPTY
};

#define OPTIONS_ROWS_MAX 48 /* at least as many as the table has */

/* What getopt_long() asks for, made from the table. */
struct options_getopt {
	struct option longs[OPTIONS_ROWS_MAX + 1];
	char shorts[3 * OPTIONS_ROWS_MAX + 3];
};

/* What is known while argv is read. outputs: each -o FILE in order, borrowed from argv. */
struct options_parsing {
	struct options *options;
	vec_of(const char *) outputs;
};

/* The options that command takes, in *getopt. Stops at the first word that is no option. */
void options_table_getopt(enum options_command command, struct options_getopt *getopt);
/* Prints --help. */
void options_table_help(enum options_command command);
/* Prints the table for a shell's completion: one line per option (optiontext.h). */
void options_table_listing(enum options_command command);
/* Prints what is wrong with the word that getopt returned value ('?' or ':') for. Returns -EINVAL. */
int options_table_complain(int value, char **argv, enum options_command command);

/* Adds what is written as format, to file if that is not NULL (borrowed); a format without a file once. */
void options_add_target(struct options *options, const struct output_format *format,
			const char *file);
/*
 * Stores one option: value is what getopt returned for it, text its argument (borrowed), or NULL.
 * -EINVAL: not usable, printed.
 */
int options_value(int value, const char *text, struct options_parsing *parsing);

/* Fills in what follows from several options together, once all are read. -EINVAL: they contradict, printed. */
int options_complete(struct options_parsing *parsing);
/*
 * Checks that argv, read up to optind, says one way of choosing targets, and stores the command that is
 * left of it. -EINVAL: none or several, printed.
 */
int options_check_targets(int argc, char **argv, struct options *options);

#endif
