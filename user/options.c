// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads argv by the table, with the parser that all commands share (cli/args.h). The stages that it calls stand in
 * files of their own (options_parts.h): the table, and the checks of combinations.
 */
#include "options.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "options_parts.h"

#define DEFAULT_HZ   99 /* not a divisor of other timers' rates: no lockstep */
#define DEFAULT_RATE (512 * 1024)

/* What differs between the commands, besides the options. */
static struct args command_args(enum options_command command)
{
	bool heap = command == OPTIONS_HEAP;

	return (struct args){
		.command = heap ? "heap" : "record",
		.operands = "-p PID|NAME[,...] | -a | -- COMMAND [ARGUMENT...]",
		.about = heap ? "Sample malloc and free, to show what allocates and what holds "
				"memory.\n"
				"Write pprof files (gzip-compressed profile.proto) for go tool "
				"pprof and "
				"other readers."
			      : "Sample stacks on the CPU, to show where the time goes.\n"
				"Write pprof files (gzip-compressed profile.proto) for go tool "
				"pprof and "
				"other readers.",
		.epilog = "With -p, -a or a filter, COMMAND is not a target: sampling lasts as "
			  "long as it runs, as in -a -- sleep 10.\n"
			  "Exit codes: 0 success, 2 usage error or file error, 3 nothing to "
			  "profile, 4 "
			  "missing privileges or kernel support. With -- COMMAND: its exit code, "
			  "or the "
			  "above if that is 0.",
		.runs_command = true,
		.other.command = heap ? "record" : "heap",
	};
}

/* Every option in turn. 1: --help was asked for and printed. */
static int read_options(int argc, char **argv, struct options_parsing *parsing)
{
	struct options *options = parsing->options;
	struct options_table table, other;
	struct args args = command_args(options->command);
	int err;

	options_table_make(options->command, parsing, &table);
	options_table_make(options->command == OPTIONS_HEAP ? OPTIONS_RECORD : OPTIONS_HEAP,
			   parsing, &other);
	args.rows = table.rows;
	args.nr_rows = table.nr;
	args.other.rows = other.rows;
	args.other.nr_rows = other.nr;
	err = args_parse(&args, argc, argv);
	options->child_argv = args.child_argv;
	if (!err)
		err = options_complete(parsing);
	args_release(&args);
	return err;
}

int options_parse(int argc, char **argv, enum options_command command, struct options *options)
{
	struct options_parsing parsing = {.options = options};
	int err;

	*options = (struct options){
		.command = command,
		.frequency_hz = DEFAULT_HZ,
		.rate_bytes = DEFAULT_RATE,
		.max_overhead = OVERHEAD_NOT_GIVEN,
		.kernel_stacks = command == OPTIONS_RECORD,
		.lines = true,
		.inlines = true,
		.native = true,
		.python = true,
		.php = true,
		.v8 = true,
		.ruby = true,
		.perl = true,
		.symbolize_timeout_ns = 10 * NSEC_PER_SEC,
		.debuginfod_timeout_ns = 10 * NSEC_PER_SEC,
		.follow_forks = command == OPTIONS_RECORD,
	};
	err = read_options(argc, argv, &parsing);
	options->follow_forks |= options->mode == OPTIONS_MODE_INSIDE;
	return err ? err : options_check_targets(options);
}

void options_release(struct options *options)
{
	targetspec_release(&options->spec);
	vec_for_each(&options->debug_dirs, dir)
		free((char *)*dir);
	vec_release(&options->debug_dirs);
	vec_release(&options->targets);
}
