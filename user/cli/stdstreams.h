/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Standard input, output and error of the process: open before a command runs, and wholly written after it.
 *
 * What a command prints stays in a buffer until the end, so that only there is known whether all of it could be
 * written. main() asks once, for every command.
 */
#ifndef CPROF_CLI_STDSTREAMS_H
#define CPROF_CLI_STDSTREAMS_H

/*
 * Opens what the caller closed (>&-), so that no other file gets the number and is then printed into. What is read
 * from it or written to it fails, as before; launched commands find it closed.
 */
void stdstreams_open(void);
/*
 * Writes what is left. Returns code, which may be a launched command's, or EXIT_USAGE, printed, if not all could be written. A reader that
 * went away is no error.
 */
int stdstreams_finish(int code);

#endif
