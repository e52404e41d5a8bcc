/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Launches a command, stopped before its first instruction until everything is attached.
 *
 * It is forked early, so that it can be a target before it runs. Under sudo it runs as the user who called sudo, and with
 * the resource limits that cprof was started with. If cprof dies, however it dies, the command gets SIGTERM.
 *
 *	child_spawn()		forks; the child waits
 *	child_release()		lets it exec
 *	child_wait()		waits for its exit code
 */
#ifndef CPROF_RECORD_CHILD_H
#define CPROF_RECORD_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
	pid_t pid;	/* 0: none, or waited for already */
	int release_fd; /* writing a byte lets it exec; closing it ends it */
	int error_fd;	/* errno of a failed exec, or nothing */
};

/*
 * Runs something else as the user that the command will run as, and waits for it: at most 2 s, then it is
 * killed. argv[0] is a path. What it wrote to stdout is in text, NUL-terminated, cut off at bytes - 1.
 * -errno, not printed; -ECHILD: it did not end well.
 */
int child_capture(const char *const argv[], char *text, size_t bytes);
/*
 * Forks. argv and env, its environment, are NULL-terminated, borrowed. stdout_fd becomes its standard output; -1: it has cprof's.
 * -errno, printed.
 */
int child_spawn(struct child *child, char **argv, char **env, int stdout_fd);
/*
 * Lets it exec name. -errno of a failed exec, printed: no such command, not executable. -EPIPE: the child was killed
 * while it waited. An exec that takes longer than a second, or until gives_up() returns true, is not waited for.
 */
int child_release(struct child *child, const char *name, bool (*gives_up)(void));
/* Does it run still, or stop? */
bool child_runs(const struct child *child);
/*
 * Blocks until it ends. Returns its exit code, or 128 + the signal that ended it; 0 if there is no child. -EINTR:
 * gives_up() (called often; NULL: never) was true, and it still runs.
 */
int child_wait(struct child *child, bool (*gives_up)(void));
/* Ends a child that was never released; closes descriptors. */
void child_abandon(struct child *child);

#endif
