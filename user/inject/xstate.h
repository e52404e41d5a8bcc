/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a thread's floating-point unit, as ptrace gives it and as the kernel puts it on the stack for a signal's handler:
 * the same layout, whose end two magic numbers mark.
 */
#ifndef CPROF_INJECT_XSTATE_H
#define CPROF_INJECT_XSTATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define XSTATE_MAX_BYTES 16384

struct xstate {
	_Alignas(64) uint8_t bytes[XSTATE_MAX_BYTES + 4]; /* with the mark */
	size_t len_bytes;				  /* without it */
	size_t given_bytes;				  /* what ptrace gives and takes */
};

/*
 * Reads that of a thread that is stopped. -ENOTSUP: it is of another layout, too large, or cannot be given back; -EAGAIN: it
 * has more in it at the moment than the frame of a signal is given here; -errno.
 */
int xstate_read(pid_t tid, struct xstate *state);
/* Gives it back. -errno. */
int xstate_write(pid_t tid, const struct xstate *state);
/* Marks it as the kernel marks what it pushes. Returns its bytes with the mark. */
size_t xstate_mark(struct xstate *state);

#endif
