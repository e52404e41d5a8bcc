/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints a table of options on stdout: as --help, and for the shells' completions.
 *
 * Both come from the rows that the command line is parsed with, so that they offer exactly the options that
 * exist. Hidden rows (those without a help text) are in neither.
 */
#ifndef CPROF_CLI_ARGHELP_H
#define CPROF_CLI_ARGHELP_H

#include <stdio.h>

#include "cli/args.h"

#define ARGS_LISTING "--list-options" /* must be the only argument */

/* The row of --help, which every command has. */
extern const struct arg_row arghelp_row;

/* What --help prints: the usage line, what the command does, the options, the epilog; in 80 columns. */
void arghelp_print(const struct args *args);
/*
 * What --list-options prints: a line for each option, with tabs between the fields and "-" for an empty one: name,
 * letter, the name of its value, the possible values, help. doc/completion reads it.
 *
 *	--output	-o	FILE	-	write to FILE; - is stdout
 */
void arghelp_list(const struct args *args);
/*
 * Prints a text in 80 columns: its first line begins at column `at`, where the output is, its further lines at
 * `indent`. Ends with a newline.
 */
void arghelp_wrap(FILE *out, const char *text, int at, int indent);

#endif
