/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ctrl-C, once or more. The first SIGINT, SIGTERM or SIGHUP makes a descriptor readable: stop, and write
 * what there is. Whoever sends one often sends two: timeout(1) signals the child, then its group. So a
 * further one counts only if it comes at least a second after the last. The second that counts gives up
 * what can be done without (interrupt_insisted()), the third the files, too: cprof says so and ends. A
 * half-written temporary file goes with it. Before anything is collected the second ends it already.
 *
 * SIGUSR1 makes the descriptor readable too: write what there is, and go on.
 */
#ifndef CPROF_RECORD_INTERRUPT_H
#define CPROF_RECORD_INTERRUPT_H

#include <stdbool.h>

/* What there is to be lost. */
enum interrupt_phase {
	INTERRUPT_NOTHING,   /* nothing has been collected yet */
	INTERRUPT_COLLECTED, /* it is to be written */
	INTERRUPT_WRITTEN
};

/* Installs the handlers; the phase is INTERRUPT_NOTHING. The descriptor, readable after each; -errno. */
int interrupt_open(void);
void interrupt_set_phase(enum interrupt_phase phase);
bool interrupt_seen(void);
/* A second one counted: only what was collected matters now. */
bool interrupt_insisted(void);
/* 128 + the last signal. */
int interrupt_exit_code(void);
/* Was a snapshot asked for since the last call? Makes the descriptor unreadable again. */
bool interrupt_take_request(void);

#endif
