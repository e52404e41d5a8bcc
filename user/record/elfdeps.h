/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the files that a command will map when it is executed: its ELF file and its libraries.
 *
 * For a script it is the interpreter that it names. They are known before the command runs, so that probes are in place
 * at its first instruction; files that it opens later (dlopen) or executes are not included.
 */
#ifndef CPROF_RECORD_ELFDEPS_H
#define CPROF_RECORD_ELFDEPS_H

#include "sandbox/parser.h"

/* path: absolute, or relative to the current folder. Borrowed for the call. */
typedef void (*elfdeps_fn)(void *ctx, const char *path);

/*
 * Calls fn for each file. parser is asked about the command's ELF file. command is searched for as execvp() does. There are no errors: files that cannot be
 * determined are left out.
 */
void elfdeps_of(const char *command, struct parser *parser, elfdeps_fn fn, void *ctx);

#endif
