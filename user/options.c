// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads argv with getopt_long(), one option at a time. The stages that it calls stand in files of their
 * own (options_parts.h): the table, the values, the checks of combinations.
 */
#include "options.h"

#include <getopt.h>
#include <stdint.h>
#include <string.h>

#include "base/optiontext.h"
#include "options_parts.h"

#define DEFAULT_HZ   99 /* not a divisor of other timers' rates: no lockstep */
#define DEFAULT_RATE (512 * 1024)

/* Every option in turn. 1: --help was asked for and printed. */
static int read_options(int argc, char **argv, struct options_parsing *parsing)
{
	struct options *options = parsing->options;
	struct options_getopt getopt;
	int value, err = 0;

	options_table_getopt(options->command, &getopt);
	optind = 0; /* GNU: begin anew, whatever was parsed before */
	opterr = 0;
	while (!err && (value = getopt_long(argc, argv, getopt.shorts, getopt.longs, NULL)) != -1) {
		if (value == 'h') {
			options_table_help(options->command);
			return 1;
		}
		err = value == '?' || value == ':'
			      ? options_table_complain(value, argv, options->command)
			      : options_value(value, optarg, parsing);
		/* -p $(pidof many): no command goes with -p */
		while (!err && value == 'p' && optind < argc && targetspec_is_pid(argv[optind]))
			err = targetspec_parse(argv[optind++], &options->spec);
	}
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
		.kernel_stacks = command == OPTIONS_RECORD,
		.follow_forks = command == OPTIONS_RECORD,
	};
	if (argc == 2 && !strcmp(argv[1], OPTION_LISTING)) {
		options_table_listing(command);
		return 1;
	}
	err = read_options(argc, argv, &parsing);
	if (!err)
		err = options_complete(&parsing);
	vec_release(&parsing.outputs);
	return err ? err : options_check_targets(argc, argv, options);
}

void options_release(struct options *options)
{
	targetspec_release(&options->spec);
	vec_release(&options->targets);
}
