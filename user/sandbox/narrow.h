/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What main itself gives up once everything is attached.
 *
 * It still maps BPF's tables, probes what targets load, samples CPUs that come back, names kernel functions and writes files
 * with the permissions of the user who started it. What it wants of other processes the opener does (process/opener.h). Capabilities for
 * anything else go, of all of its sets,
 * no_new_privs is set, and system calls for anything else fail with EPERM: an attacker who controls main has no kernel
 * module, no network, no other user, no mount, no other process and no other program.
 */
#ifndef CPROF_SANDBOX_NARROW_H
#define CPROF_SANDBOX_NARROW_H

#include <stdbool.h>
#include <stdint.h>

struct narrow_needs {
	bool administers; /* CAP_SYS_ADMIN stays */
	bool inspects; /* CAP_SYS_PTRACE stays: /proc hides processes (hidepid) from who may not inspect them */
};

/*
 * Capabilities are those of the calling thread and of threads that it makes from then on; the filter of system calls, and
 * no_new_privs with it, concern all threads. Processes that were forked before are as they were.
 * CAP_SYS_ADMIN stays as well where it serves in place of a capability that cprof lacks (CAP_BPF, CAP_PERFMON: root before
 * Linux 5.8, a container that was given the old one alone). Returns the set of what is missing (enum confine_missing:
 * CONFINE_NO_PRIVS, CONFINE_NO_CAPSET, CONFINE_NO_SECCOMP); the rest is given up.
 */
uint32_t narrow_main(const struct narrow_needs *needs);

#endif
