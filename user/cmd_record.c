// SPDX-License-Identifier: BSD-2-Clause
/* cprof record: on-CPU profiles. */
#include "cmd.h"
#include "exit.h"
#include "options.h"
#include "record/run.h"
#include "worker/serve.h"

int cmd_record(int argc, char **argv)
{
	struct options options;
	int parsed = options_parse(argc, argv, OPTIONS_RECORD, &options);
	int code = parsed < 0 ? EXIT_USAGE : parsed > 0 ? EXIT_DONE : run(&options, serve);

	options_release(&options);
	return code;
}
