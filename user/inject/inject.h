/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes libcprof-heap.so into a running process, and out of use again.
 *
 * A process of its own does it, the injector, which is forked while cprof may still trace others: it waits until it is
 * told to begin, and takes the library out of use when its socket closes, however cprof ended. It looks once a second
 * whether the process has mapped something more, whose calls are then redirected, too.
 *
 * What it needs of other processes: ptrace, their memory. It parses nothing of a target's but numbers of /proc.
 */
#ifndef CPROF_INJECT_INJECT_H
#define CPROF_INJECT_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct inject_options {
	pid_t pid;
	const char *
		library; /* its absolute path; borrowed until inject_start() returns, and by its child */
	uint64_t rate_bytes;
};

struct injector {
	pid_t pid; /* 0: there is none */
	int socket;
};

#define INJECT_REASON_BYTES 256

/*
 * The reason why the process cannot be injected, as far as it can be known from outside: "it is static" ... Returns reason, "" if it
 * seems possible.
 */
const char *inject_refusal(pid_t pid, char reason[INJECT_REASON_BYTES]);

/* Forks the injector. -errno. */
int inject_start(const struct inject_options *options, struct injector *injector);
/*
 * Lets it begin, and waits for it. needs_call: threads are stopped in system calls alone. 0: *nr_slots lead to the library
 * now. -ENOTSUP, and reason, if not.
 */
int inject_begin(struct injector *injector, int needs_call, int64_t *nr_slots,
		 char reason[INJECT_REASON_BYTES]);
/*
 * Takes the library out of use, waits until that is done. One that was not begun just ends. false: it could not be done,
 * and the process goes on calling the library, which is idle.
 */
bool inject_end(struct injector *injector);

#endif
