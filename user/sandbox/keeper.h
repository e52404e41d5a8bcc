/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keeper: a process that forks workers when it is asked to, and does nothing else. There is one for each role.
 *
 * Main could fork a worker itself, but the worker would inherit what main holds by then: samples, kernel addresses,
 * open files; nor would it have capabilities that main has given up. The keeper is forked before main holds any, has
 * already given up what its role does not need, and is small, so that forking a worker from it takes 0.3 ms. It ends when
 * main ends, for whatever reason, and its worker ends with it.
 */
#ifndef CPROF_SANDBOX_KEEPER_H
#define CPROF_SANDBOX_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

#include "sandbox/confine.h"
#include "sandbox/transfer.h"

/*
 * What a worker does: answers what comes from the socket, returns when the other side is gone. Its first message is
 * HELLO, sent for it.
 */
typedef void (*keeper_serve_fn)(int socket);

struct keeper {
	pid_t pid;
	int socket;	 /* -1: there is none */
	uint64_t serial; /* of the last order */
};

/* Forks the keeper. Call it while the process has one thread, and holds nothing. -errno. */
int keeper_start(struct keeper *keeper, enum confine_role role, keeper_serve_fn serve);
/*
 * Asks for a new worker, which answers at the other end of *socket; the one before is killed. wait decides for how long the
 * keeper is waited for. -errno: -EPIPE, the keeper is gone; -ETIME and others of wait.
 *
 * A keeper that is gone, or once was too late, is given up: the calls that follow are -EPIPE at once.
 */
int keeper_fork(struct keeper *keeper, const struct transfer_wait *wait, int *socket,
		pid_t *worker);
/* Ends the keeper and its worker. Waits for 100 ms at most. */
void keeper_stop(struct keeper *keeper);

#endif
