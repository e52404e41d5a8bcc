/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a collecting command, record or heap, from checked options to written profiles. */
#ifndef CPROF_RECORD_RUN_H
#define CPROF_RECORD_RUN_H

#include "options.h"

/* options is borrowed. Returns the exit code for main (exit.h), or that of a launched command. */
int run(const struct options *options);

#endif
