/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is said about an option of a command: for people, below --help, and for the shells' completions
 * (doc/completion), to which `cprof COMMAND --list-options` says all there is. From one description, so
 * that nothing is offered that is not there.
 *
 *	  -o, --output FILE            where to; - is stdout,
 *	                               and so is a pipe
 *
 *	--output	-o	FILE	-	where to; - is stdout, and so is a pipe
 */
#ifndef CPROF_BASE_OPTIONTEXT_H
#define CPROF_BASE_OPTIONTEXT_H

#include <stdbool.h>

#define OPTION_LISTING "--list-options" /* the only argument then */

struct option_text {
	const char *name;  /* without "--" */
	char letter;	   /* 0: none */
	const char *value; /* what it is called: "FILE"; NULL: it takes none */
	bool is_optional;  /* --name[=FILE] */
	const char *words; /* the values there are, parted by blanks; NULL: any */
	const char *help;  /* lines parted by '\n' */
};

/* Both owned by the caller, with '\n' at the end. Column: where help begins, counted from 0. */
char *option_help(const struct option_text *option, int column);
/* Fields parted by tabs, "-" where there is none: name, letter, value, words, help. */
char *option_listing(const struct option_text *option);

#endif
