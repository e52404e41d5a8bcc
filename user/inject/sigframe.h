/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frame that the kernel pushes for a signal's handler, made by hand: a function that returns into it gives the thread back
 * to what it did.
 */
#ifndef CPROF_INJECT_SIGFRAME_H
#define CPROF_INJECT_SIGFRAME_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "inject/threadstop.h"
#include "inject/tracee.h"

/*
 * Puts the frame with all of stop on the stack of the thread, and makes of *regs those that call the function, which returns to
 * restorer: their rsp is the frame's. stop is marked (inject/xstate.h). -ENOMEM: the stack has no room; -EFAULT.
 */
int sigframe_push(pid_t tid, uint64_t restorer, const struct remote_call *call,
		  struct thread_stop *stop, struct user_regs_struct *regs);

#endif
