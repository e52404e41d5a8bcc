/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Standard input, output and error of the process: open before a command runs, and wholly written after it.
 *
 * The output of a command stays in a buffer until the end, so that only then is it known whether all of it could be
 * written. main() checks once, for every command.
 */
#ifndef CPROF_CLI_STDSTREAMS_H
#define CPROF_CLI_STDSTREAMS_H

/*
 * Opens the streams that the caller closed (>&-), so that no other file gets their number and is then printed into.
 * Reading from them and writing to them fails, as before; launched commands find them closed.
 */
void stdstreams_open(void);
/*
 * From now on a write beyond the limit of a file's size (ulimit -f) fails with EFBIG, like any other that cannot be done;
 * by default SIGXFSZ ends the process. Launched commands get what cprof got.
 */
void stdstreams_take_size_limit_as_error(void);
/*
 * Writes the buffered rest. Returns code, which may be a launched command's, or EXIT_USAGE, printed, if not all could be written. A reader that
 * went away is no error.
 */
int stdstreams_finish(int code);

#endif
