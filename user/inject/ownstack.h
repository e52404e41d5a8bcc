/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is there room on a stopped thread's stack for a call that is not its own? On the stack of a coroutine, or of a signal's handler
 * (sigaltstack), such a call would overwrite what lies beside it.
 */
#ifndef CPROF_INJECT_OWNSTACK_H
#define CPROF_INJECT_OWNSTACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/*
 * Does tid of pid, which the caller traces and has stopped with these registers, run on the stack that the kernel, or the C library, has given it, with
 * room for the call, and in no handler of a signal?
 */
bool ownstack_is_given(pid_t pid, pid_t tid, const struct user_regs_struct *regs);

/*
 * The address in pid of the lock that the C library holds while it makes or frees the stacks of threads; dlopen() takes it, too.
 * 0: it is not known.
 */
uint64_t ownstack_lock(pid_t pid);

#endif
