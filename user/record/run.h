/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a collecting command, record or heap, from checked options to written profiles. */
#ifndef CPROF_RECORD_RUN_H
#define CPROF_RECORD_RUN_H

#include "options.h"
#include "sandbox/keeper.h"

/*
 * options is borrowed. serve is what a worker does (sandbox/keeper.h). Returns the exit code for main (exit.h), or that of
 * a launched command.
 */
int run(const struct options *options, keeper_serve_fn serve);

#endif
