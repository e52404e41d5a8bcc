/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of an option: its lines in --help, and its line in --list-options, which the shell completions
 * (doc/completion) read.
 *
 * Both come from one description, so that the completions offer exactly the options that exist.
 *
 *	  -o, --output FILE            where to write; - is stdout,
 *	                               and so is a pipe
 *
 *	--output	-o	FILE	-	where to write; - is stdout, and so is a pipe
 */
#ifndef CPROF_BASE_OPTIONTEXT_H
#define CPROF_BASE_OPTIONTEXT_H

#include <stdbool.h>

#define OPTION_LISTING "--list-options" /* must be the only argument */

struct option_text {
	const char *name;  /* without "--" */
	char letter;	   /* 0: none */
	const char *value; /* the name of its argument, "FILE"; NULL: it takes none */
	bool is_optional;  /* --name[=FILE] */
	const char *words; /* the possible values, separated by blanks; NULL: any */
	const char *help;  /* lines, separated by '\n' */
};

/* The lines for --help; the help text starts in column (from 0). Owned by the caller; ends with '\n'. */
char *option_help(const struct option_text *option, int column);
/*
 * The line for --list-options, with tabs between the fields and "-" for an empty one: name, letter, value,
 * words, help. Owned by the caller; ends with '\n'.
 */
char *option_listing(const struct option_text *option);

#endif
