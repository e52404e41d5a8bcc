/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages to the user, on stderr: one line a call, with the prefix "cprof: ".
 *
 * Reporting a failure and returning it are one expression, so that a printed failure cannot exit 0:
 *
 *	return fail(-errno, "open '%s'", path);
 *
 * Only main, options, run, cmd_*, collect/ and output/{file,folder} may print; the other rooms return errors.
 * Text that comes from a target (a comm, a path, a symbol) goes through text_escape() first.
 */
#ifndef CPROF_BASE_LOG_H
#define CPROF_BASE_LOG_H

#include <stdbool.h>

/*
 * Prints "cprof: <message>: <strerror>" and returns err. err is -errno and never 0. The strerror
 * part is left out when the message ends in '.', '!' or '?': then the message is complete.
 */
int fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3), warn_unused_result));
/* A warning: something that the user should know and that does not end the run. */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Progress and results. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Details, printed only with -v. */
void detail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Turns detail() on or off; off at the start. */
void log_set_verbose(bool verbose);
bool log_is_verbose(void);

/*
 * Prints the status line, which is rewritten in place and erased by the next message of any kind. Does
 * nothing where stderr is not a terminal.
 */
void log_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
