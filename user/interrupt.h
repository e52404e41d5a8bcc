/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ctrl-C, twice. The first SIGINT or SIGTERM makes a descriptor readable: stop, and write what there
 * is. The second ends the process at once; a half-written temporary file goes with it.
 */
#ifndef CPROF_INTERRUPT_H
#define CPROF_INTERRUPT_H

#include <stdbool.h>

/* Installs the handlers (SIGHUP and SIGTERM count as SIGINT). Readable after the first; -errno. */
int interrupt_open(void);
bool interrupt_seen(void);

#endif
