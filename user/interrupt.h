/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ctrl-C, twice. The first SIGINT or SIGTERM makes a descriptor readable: stop, and write what there
 * is. The second ends the process at once; a half-written temporary file goes with it. SIGUSR1 makes
 * the descriptor readable too: write what there is, and go on.
 */
#ifndef CPROF_INTERRUPT_H
#define CPROF_INTERRUPT_H

#include <stdbool.h>

/* Installs the handlers (SIGHUP and SIGTERM count as SIGINT). Readable after each; -errno. */
int interrupt_open(void);
bool interrupt_seen(void);
/* Was a snapshot asked for since the last call? Makes the descriptor unreadable again. */
bool interrupt_take_request(void);

#endif
