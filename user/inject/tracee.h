/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls a function in a running process: a thread of it is stopped for a moment where it is neither in the loader nor in
 * the allocator.
 *
 * The thread is made to look as if a signal's handler had been called. The function returns to the C library's own return
 * from a handler, by which the kernel restores all registers and the signal mask. So nobody has to be there when it
 * returns: if the caller dies at any moment, the thread goes on as if nothing had been.
 */
#ifndef CPROF_INJECT_TRACEE_H
#define CPROF_INJECT_TRACEE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TRACEE_MAX_RANGES  64
#define TRACEE_MAX_RESULTS 3

/* Code. */
struct code_range {
	uint64_t start, limit;
};

struct tracee {
	pid_t pid;
	uint64_t restorer;			     /* address of `mov $15, %rax; syscall` in it */
	struct code_range unsafe[TRACEE_MAX_RANGES]; /* of the loader and of allocators */
	uint32_t nr_unsafe;
	uint64_t
		stack_lock; /* of the C library's lists of stacks (inject/ownstack.h); 0: it is not known */
	/* Do the addresses still hold? It may have executed another program since. Asked when a thread is stopped. */
	bool (*is_same)(const struct tracee *tracee);
	bool needs_call; /* a thread is safe only while it waits in a system call */
};

/* What is called: function(first, second). A NULL text: first is a number, else the address of a copy. */
struct remote_call {
	uint64_t function;
	const char *text;
	uint64_t first;
	uint64_t second;
	uint32_t
		nr_results; /* > 0: second is the address of as many words, which are read afterwards */
};

/*
 * Waits up to timeout_ns for a thread that can make the call, and up to as long for its end, or for its next system call, but no
 * more than ten seconds longer. results: the words, if it has any. -ETIME: no thread could;
 * -EXDEV: as none was on its own stack; -EBUSY: none could, as the process is stopped (SIGSTOP); -EPERM: somebody else traces
 * it, or it may not be traced; -ESRCH: it is gone; -EFAULT: the function crashed, and the thread was put back where it was;
 * -ETIMEDOUT: the function has not returned, and goes on.
 */
int tracee_call(const struct tracee *tracee, const struct remote_call *call, uint64_t timeout_ns,
		int64_t results[TRACEE_MAX_RESULTS]);

#endif
