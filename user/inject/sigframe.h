/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frame that the kernel pushes for a signal's handler, made by hand: a function that returns into it gives the thread back
 * to what it did.
 */
#ifndef CPROF_INJECT_SIGFRAME_H
#define CPROF_INJECT_SIGFRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "inject/threadstop.h"
#include "inject/tracee.h"

/* What must be free below the stack pointer. */
#define SIGFRAME_ROOM_BYTES (80u << 10)

/*
 * Puts the frame with all of stop on the stack of the thread, and makes of *regs those that call the function, which returns to
 * restorer: their rsp is the frame's. stop is marked (inject/xstate.h). -ENOMEM: the stack has no room; -EFAULT.
 */
int sigframe_push(pid_t tid, uint64_t restorer, const struct remote_call *call,
		  struct thread_stop *stop, struct user_regs_struct *regs);
/* The function has returned to a frame that was pushed: it is not taken for one that is in use any more. */
void sigframe_forget(pid_t tid, uint64_t frame_at);
/*
 * Is there a frame of a signal in the words from sp to limit, of which the nearest 64 KB are looked at? It may be one that was left over
 * within the frame of a function.
 */
bool sigframe_is_above(pid_t tid, uint64_t sp, uint64_t limit);

#endif
