/* SPDX-License-Identifier: BSD-2-Clause */
/* Is a stopped thread where it can be made to call a function that loads, allocates and takes locks? */
#ifndef CPROF_INJECT_SAFETY_H
#define CPROF_INJECT_SAFETY_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "inject/tracee.h"

/* Finds the code of the loader and of allocators in the process: tracee's unsafe ranges, and needs_call if not all of it is. */
void safety_find_unsafe(struct tracee *tracee);
/*
 * tid is stopped, and traced by the caller. 0: it is safe; -EAGAIN: it may be in the loader, the allocator, or at the beginning or the end
 * of a thread; -EXDEV: it is not on its own stack, or in a handler of a signal (inject/ownstack.h).
 */
int safety_check(const struct tracee *tracee, pid_t tid, const struct user_regs_struct *regs,
		 uint64_t mask);

#endif
