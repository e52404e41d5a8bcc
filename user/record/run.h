/* SPDX-License-Identifier: BSD-2-Clause */
/* The story of a collecting run, record or heap, from checked options to written profiles. */
#ifndef CPROF_RECORD_RUN_H
#define CPROF_RECORD_RUN_H

#include "options.h"

/* The exit code for main: exit.h, or a launched command's own. */
int run(const struct options *options);

#endif
