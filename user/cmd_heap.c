// SPDX-License-Identifier: BSD-2-Clause
/* cprof heap: who allocates, and who holds the memory. */
#include "cmd.h"
#include "exit.h"
#include "options.h"
#include "record/run.h"
#include "worker/serve.h"

int cmd_heap(int argc, char **argv)
{
	struct options options;
	int parsed = options_parse(argc, argv, OPTIONS_HEAP, &options);
	int code = parsed < 0 ? EXIT_USAGE : parsed > 0 ? EXIT_DONE : run(&options, serve);

	options_release(&options);
	return code;
}
