/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ctrl-C and other signals that end a run, once or several times.
 *
 * The first SIGINT, SIGTERM or SIGHUP makes a descriptor readable: stop, and write what there is. Some senders send two
 * (timeout(1) signals the child, then its process group), so a further one counts only a second or more after the one
 * before. The second that counts skips what is not essential (interrupt_insisted()). The third ends cprof at
 * once, with a message that says what is lost, and removes a half-written temporary file. Before anything is collected
 * the second does so.
 *
 * SIGUSR1 makes the descriptor readable too: write a snapshot, and go on.
 */
#ifndef CPROF_RECORD_INTERRUPT_H
#define CPROF_RECORD_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

/* What would be lost by ending now. */
enum interrupt_phase {
	INTERRUPT_NOTHING,   /* nothing has been collected yet */
	INTERRUPT_COLLECTED, /* samples, not written yet */
	INTERRUPT_WRITTEN
};

/* Installs the handlers; the phase is INTERRUPT_NOTHING. Returns the descriptor (readable after each signal), or -errno. */
int interrupt_open(void);
/*
 * Whether a signal that comes at now_ns counts: the first one (*before_ns is 0) does, and one that comes a second or more after
 * the one before, whether or not that one counted. Sets *before_ns to now_ns.
 */
bool interrupt_counts(uint64_t *before_ns, uint64_t now_ns);
/* Sets what the message of a third signal says is lost. */
void interrupt_set_phase(enum interrupt_phase phase);
/* Whether a signal that ends the run has come. */
bool interrupt_seen(void);
/* Whether a second signal has counted: then cprof only writes what was collected. */
bool interrupt_insisted(void);
/* The exit code for an interrupted run: 128 + the last signal. */
int interrupt_exit_code(void);
/* Whether SIGUSR1 has come since the last call. Makes the descriptor unreadable again. */
bool interrupt_take_request(void);

#endif
