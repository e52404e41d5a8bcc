// SPDX-License-Identifier: BSD-2-Clause
/*
 * The side of main: it tells the injector (injector.h) to begin by a byte, and to end by closing the socket, which the kernel
 * does for it however it ends.
 */
#include "inject/inject.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/injector.h"

int inject_start(const struct inject_options *options, struct injector *injector)
{
	int sockets[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = fork();
	if (!pid) {
		close(sockets[0]);
		injector_run(options, sockets[1]);
	}
	err = -errno;
	close(sockets[1]);
	if (pid < 0) {
		close(sockets[0]);
		return err;
	}
	*injector = (struct injector){.pid = pid, .socket = sockets[0]};
	return 0;
}

static void say_why(const struct injector_outcome *outcome, char reason[INJECT_REASON_BYTES])
{
	const char *why = strerror(-outcome->err);

	if (outcome->err == -EEXIST)
		why = "another cprof injects it";
	else if (outcome->err == -ETIME)
		why = "no thread of it was outside the loader and the allocator";
	else if (outcome->err == -EXDEV)
		why = "no thread of it was on its own stack, outside the handlers of signals";
	else if (outcome->err == -EBUSY)
		why = "it is stopped (SIGSTOP), in the loader or the allocator: continue it, and "
		      "try "
		      "again";
	else if (outcome->err == -ETIMEDOUT)
		why = "its loader did not answer in time";
	else if (outcome->err == -EFAULT)
		why = "its loader failed";
	else if (!outcome->err && !outcome->is_loaded)
		why = "its loader could not load libcprof-heap.so, which its user may not be able "
		      "to "
		      "read";
	else if (outcome->nr_slots == REDIRECT_BUSY)
		why = "a call for an earlier cprof has not returned yet";
	else if (outcome->nr_slots == REDIRECT_OWN_ALLOCATOR)
		why = "the program has an allocator of its own";
	else if (outcome->nr_slots == REDIRECT_NEEDLESS)
		why = "it was started with the library, and already samples itself";
	else if (!outcome->err)
		why = "no file of it calls the allocator through its GOT";
	snprintf(reason, INJECT_REASON_BYTES, "%s", why);
}

int inject_begin(struct injector *injector, int needs_call, int64_t *nr_slots,
		 char reason[INJECT_REASON_BYTES])
{
	struct injector_outcome outcome = {.err = -ECHILD};
	char word = needs_call;

	if (write(injector->socket, &word, 1) != 1 ||
	    read(injector->socket, &outcome, sizeof(outcome)) != sizeof(outcome))
		outcome.err = -ECHILD;
	*nr_slots = outcome.nr_slots;
	if (!outcome.err && outcome.nr_slots > 0)
		return 0;
	say_why(&outcome, reason);
	return -ENOTSUP;
}

bool inject_end(struct injector *injector)
{
	int status = 0;

	if (!injector->pid)
		return true;
	close(injector->socket);
	while (waitpid(injector->pid, &status, 0) < 0 && errno == EINTR)
		;
	injector->pid = 0;
	return !status;
}
