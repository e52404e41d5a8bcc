/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cprof symbolize: names the code in profiles later, or elsewhere, from the files of this machine.
 *
 * Two processes that read what others wrote: this one reads profiles, confined as every reader is; the worker reads the files
 * that they name (sandbox/message.h), and gets nothing but descriptors.
 */
#ifndef CPROF_TOOLS_SYMBOLIZING_H
#define CPROF_TOOLS_SYMBOLIZING_H

#include "sandbox/keeper.h"

/* The command, with what its worker does (worker/serve.h). cprof's exit code. */
int symbolizing_run(int argc, char **argv, keeper_serve_fn serve);

#endif
