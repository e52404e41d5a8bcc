/* SPDX-License-Identifier: BSD-2-Clause */
/* Stops a thread of another process where it can be made to call a function, and reads what it must have back afterwards. */
#ifndef CPROF_INJECT_THREADSTOP_H
#define CPROF_INJECT_THREADSTOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "inject/tracee.h"
#include "inject/xstate.h"

#define THREADSTOP_MAX_THREADS 64 /* that are tried */
#define THREADSTOP_MAX_LATE    64 /* that do not stop */

struct thread_stop {
	struct user_regs_struct regs; /* to go on with */
	uint64_t mask;		      /* signals that it blocks */
	struct xstate state;
};

/* The threads there are, the first THREADSTOP_MAX_THREADS of them. Returns how many. */
size_t threadstop_list(pid_t pid, pid_t tids[THREADSTOP_MAX_THREADS]);

/*
 * Traces a thread and stops it at a safe place (inject/safety.h); then it is the caller's to detach. -EAGAIN: not now;
 * -EXDEV: nor is it on its own stack; -EBUSY: not as long as the process is stopped; -errno. Where it fails it is not traced.
 */
int threadstop_take(const struct tracee *tracee, pid_t tid, struct thread_stop *stop);
/*
 * Waits for a thread that was asked to stop, for half a second at most: in an uninterruptible sleep it stops when the target wants. false:
 * it did not, and is let go once it stops (threadstop_release_late()), or has ended.
 */
bool threadstop_wait(pid_t tid, int *status);
/* Lets those go that have stopped too late. Returns how many have not stopped yet: they are traced. To be called again and again. */
size_t threadstop_release_late(void);
/* A thread that is stopped goes on from there once it is let go: gives it all of its state back. */
void threadstop_put_back(pid_t tid, const struct thread_stop *stop);

#endif
