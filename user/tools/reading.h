/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a command that reads profiles begins: its command line is parsed, then it confines itself (sandbox/reader.h), so that
 * no byte of a profile is parsed with more power than that takes.
 *
 *	struct reading reading = {0};
 *	const struct arg_row rows[] = { ..., READING_ROWS(&reading) };
 *	...
 *	return reading_begin(&reading, &args, argc, argv, &code) ? show(&args.operand) : code;
 */
#ifndef CPROF_TOOLS_READING_H
#define CPROF_TOOLS_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/args.h"
#include "exit.h"

struct reading {
	bool no_sandbox, verbose;
	/* for a command whose worker parses files: it may use the worker, which did not give up worker_missing */
	bool asks_worker;
	uint32_t worker_missing;
	const char *folder; /* that it writes to besides its outputs; NULL: none */
};

/* clang-format off */
#define READING_ROWS(reading)                                                                      \
	ARG_GROUP("Other options"),                                                                \
	{"no-sandbox", 0, ARG_FLAG, NULL,                                                          \
	 "parse profiles with all privileges of this process: unsafe, for debugging only",         \
	 &(reading)->no_sandbox},                                                                  \
	{"verbose", 'v', ARG_FLAG, NULL, "print details", &(reading)->verbose}
/* clang-format on */

/* args_begin(), then reading_confine(). false: the command ends here, with *code; else *code is EXIT_DONE. */
bool reading_begin(const struct reading *reading, struct args *args, int argc, char **argv,
		   enum exit_code *code);
/*
 * Confines this process to what args, which are parsed, name: files to read anywhere, files to write where their options
 * say. is_sudo_users: files to read come later, which belong to the user behind sudo. EXIT_DONE; EXIT_CANNOT,
 * printed: it would not be safe to go on.
 */
enum exit_code reading_confine(const struct reading *reading, const struct args *args,
			       bool is_sudo_users);

#endif
