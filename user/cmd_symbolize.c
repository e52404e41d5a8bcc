// SPDX-License-Identifier: BSD-2-Clause
/* cprof symbolize: names the code in profiles after the fact. */
#include "cmd.h"
#include "tools/symbolizing.h"
#include "worker/serve.h"

int cmd_symbolize(int argc, char **argv)
{
	return symbolizing_run(argc, argv, serve);
}
