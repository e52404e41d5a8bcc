// SPDX-License-Identifier: BSD-2-Clause
/* cprof heap: who allocates, and who holds the memory. */
#include "cmd.h"
#include "exit.h"
#include "options.h"
#include "record/criteria.h"
#include "record/run.h"
#include "worker/serve.h"

/* What is injected is one process, which the name stands for. */
static int resolve(struct options *options)
{
	if (!options->inject || !options->spec.names.nr)
		return 0;
	return criteria_resolve_name("/proc", "--inject", &options->spec);
}

int cmd_heap(int argc, char **argv)
{
	struct options options;
	int parsed = options_parse(argc, argv, OPTIONS_HEAP, &options);
	int code = parsed > 0 ? EXIT_DONE : EXIT_USAGE;

	if (!parsed && !resolve(&options))
		code = run(&options, serve);
	options_release(&options);
	return code;
}
