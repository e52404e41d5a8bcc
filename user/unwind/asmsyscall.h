/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recognizes the system calls that come back with another stack (x86-64), in hand-written code: sigreturn and clone. Private to
 * asmpath.c and asmflow.c.
 */
#ifndef CPROF_UNWIND_ASMSYSCALL_H
#define CPROF_UNWIND_ASMSYSCALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/asmpath.h"
#include "unwind_abi.h"

/* mov $15,%rax; syscall: what a signal handler returns to. */
#define ASMSYSCALL_SIGRETURN_BYTES 9

/* Whether that is the code at offset. */
bool asmsyscall_is_sigreturn(const struct asmpath *path, uint32_t offset);
/* How its caller is found, which the signal has interrupted. */
struct unwind_rule asmsyscall_sigreturn_rule(void);

/*
 * Whether the system call at offset comes back with another stack, by the few instructions of the path before it:
 * one of a number that is not known does not.
 */
bool asmsyscall_changes_stack(const struct asmpath *path, uint32_t offset);

/*
 * What follows a call of clone at a function's own stack: a test of eax, a branch of the old thread, and the new one's code.
 * false: it does not.
 */
struct asmsyscall_clone {
	uint32_t test, branch, child; /* where each begins */
	int64_t parent;		      /* where the branch leads, which may be outside */
};
bool asmsyscall_clone_at(const struct asmpath *path, uint32_t offset,
			 struct asmsyscall_clone *clone);

#endif
