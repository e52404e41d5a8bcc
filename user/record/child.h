/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command that cprof launches: forked early, so that it can be a target before it runs a single
 * instruction of its own, and let go when everything is attached. Under sudo it runs as the user
 * behind sudo. If cprof dies, however it dies, the command gets SIGTERM.
 *
 *	child_spawn()		forked and waiting
 *	child_release()		execs, or says why not
 *	child_wait()		its exit code
 */
#ifndef CPROF_RECORD_CHILD_H
#define CPROF_RECORD_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
	pid_t pid;	/* 0: none, or waited for already */
	int release_fd; /* a byte here lets it go; closing it ends it */
	int error_fd;	/* errno of a failed exec, or nothing */
};

/*
 * Runs something else as the user that the command will run as, and waits for it: at most 2 s, then it is
 * killed. argv[0] is a path. What it wrote to stdout is in text, NUL-terminated, cut off at bytes - 1.
 * -errno, not printed; -ECHILD: it did not end well.
 */
int child_capture(const char *const argv[], char *text, size_t bytes);
/*
 * argv is NULL-terminated and borrowed. stdout_fd: what it has for its standard output; -1: cprof's.
 * -errno, printed.
 */
int child_spawn(struct child *child, char **argv, int stdout_fd);
/* -errno of the exec, printed: no such command, not executable. */
int child_release(struct child *child, const char *name);
/*
 * Blocks until it ends: its exit code, or 128 + the signal that ended it. -EINTR: it runs on, but
 * gives_up() said so (looked at often; NULL: never).
 */
int child_wait(struct child *child, bool (*gives_up)(void));
/* Ends a child that was never released; closes descriptors. */
void child_abandon(struct child *child);

#endif
