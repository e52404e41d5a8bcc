/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files a command will map when it is executed: its ELF file, or the interpreter that a script
 * names, and the libraries that the dynamic loader will add. Known before it runs, so that the probes
 * stand at its first instruction; what it opens later (dlopen), or executes in its turn, is not here.
 */
#ifndef CPROF_RECORD_ELFDEPS_H
#define CPROF_RECORD_ELFDEPS_H

/* path: absolute, or relative to the current folder. Borrowed for the call. */
typedef void (*elfdeps_fn)(void *ctx, const char *path);

/*
 * Calls fn for each of them. command is looked for as execvp() does. Nothing is an error: what cannot be
 * found out is not called for.
 */
void elfdeps_of(const char *command, elfdeps_fn fn, void *ctx);

#endif
