/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the files that a command will map when it is executed: its ELF file and its libraries.
 *
 * The user has typed the command's name, but what it leads to may be anybody's: a file on a file system that does not answer,
 * or one that names an interpreter there. So the opener opens it, and a parser reads it, as of any target.
 *
 * For a script it is the interpreter that it names. They are known before the command runs, so that probes are in place
 * at its first instruction; files that it opens later (dlopen) or executes are not included.
 */
#ifndef CPROF_RECORD_ELFDEPS_H
#define CPROF_RECORD_ELFDEPS_H

#include "process/opener.h"
#include "sandbox/parser.h"

/* path: absolute. Borrowed for the call. */
typedef void (*elfdeps_fn)(void *ctx, const char *path);

/* Who opens and reads files. opener NULL: this process opens them. */
struct elfdeps_helpers {
	struct opener *opener;
	struct parser *parser;
};

/*
 * Calls fn for each file. command is searched for as execvp() does. There are no errors: files that cannot be determined are
 * left out.
 */
void elfdeps_of(const char *command, const struct elfdeps_helpers *helpers, elfdeps_fn fn,
		void *ctx);

#endif
