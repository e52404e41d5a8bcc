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
};

/* Reads that of a thread that is stopped. -ENOTSUP: it is of another layout, or too large; -errno. */
int xstate_read(pid_t tid, struct xstate *state);
/* Gives it back. */
void xstate_write(pid_t tid, const struct xstate *state);
/* Marks it as the kernel marks what it pushes. Returns its bytes with the mark. */
size_t xstate_mark(struct xstate *state);

#endif
