// SPDX-License-Identifier: BSD-2-Clause
/*
 * In place of injector.c and what it needs, on machines other than x86-64: the frame of a signal that is made by hand, with all
 * of the floating-point and vector state, and the restart of an interrupted system call are a machine's own. On arm64 the kernel
 * has already taken such a call back when the tracer sees the thread, and does not tell its first argument where it has not.
 */
#include "inject/injector.h"

#include <errno.h>
#include <unistd.h>

void injector_run(const struct inject_options *options, int socket)
{
	const struct injector_outcome outcome = {.err = -ENOTSUP};
	char word;

	(void)options;
	_exit(read(socket, &word, 1) == 1 &&
	      write(socket, &outcome, sizeof(outcome)) != sizeof(outcome));
}

const char *injector_refusal(void)
{
	return "cprof injects into processes of x86-64 alone";
}
