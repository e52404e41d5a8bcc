/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process gives up before it reads what somebody else wrote.
 *
 *	confine_process()	every descriptor but one, signals, the network, files (landlock), its user and groups, all
 *				capabilities, core dumps, being traced by its user, most of its resources
 *	confine_calls()		all system calls but a few (seccomp); the parser's open, create and connect nothing
 *
 * System calls are what counts: without them the process can compute, read the descriptors that it is sent, and answer.
 * The rest protects against what the kernel's own faults would give. None of it can be undone.
 *
 * The fetcher (debuginfod/fetching.h) keeps the network, reads the folders with libraries and settings of the network, and
 * may use all system calls but those for other programs, processes and what else it has no use for.
 *
 * The opener keeps its user, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_CHECKPOINT_RESTORE (or what serves in place of one
 * that is missing), and may open files for reading and make files in memory.
 *
 * The attacher (collect/attacher.h) keeps its user, CAP_BPF and CAP_PERFMON, and CAP_SYS_ADMIN, which it gives up itself where
 * the kernel does without. It may attach BPF programs, and open nothing.
 */
#ifndef CPROF_SANDBOX_CONFINE_H
#define CPROF_SANDBOX_CONFINE_H

#include <stdint.h>

/* The descriptor that is left open; 0 to 2 are /dev/null. */
#define CONFINE_FD 3

#define CONFINE_MEMORY_BYTES (1ull << 30) /* of its own */
#define CONFINE_ADDRESS_BYTES \
	(6ull << 30)	       /* with views of files, at most three at a time that are not small */
#define CONFINE_CPU_S	    60 /* over the life of a worker; more than one file may take */
#define CONFINE_MAX_FILES   1100 /* descriptors */
#define CONFINE_STACK_BYTES (100ull << 20)
#define CONFINE_OPENER_FILE_BYTES \
	(128ull << 20) /* of a copy in memory (process/filecopy.h); the parser writes no file */
#define CONFINE_FETCHER_FILE_BYTES (512ull << 20)
#define CONFINE_PARSER_CALLS	   20 /* system calls that it may use, at most */

/* What a kernel, or a container, did not let a process give up: a set. */
enum confine_missing {
	CONFINE_NO_USER =
		1, /* it still runs as the user that started cprof: it may not change that */
	CONFINE_NO_LANDLOCK = 2, /* landlock(7) is not there */
	CONFINE_NO_NETNS = 4,	 /* it is in cprof's network namespace */
	CONFINE_NO_CAPSET = 8,	 /* it still has capabilities */
	CONFINE_NO_PRIVS = 16,	 /* a program that it runs may gain privileges */
	CONFINE_NO_LIMITS = 32,	 /* its resources are not limited */
	CONFINE_NO_SECCOMP = 64, /* it may use all system calls */
	CONFINE_NO_NOBODY = 128, /* the same: there is no user nobody in this user namespace */
	CONFINE_NO_GROUPS = 256, /* it is nobody, and still in groups of that user */
	CONFINE_NR_MISSING = 512,
};
/* Without these it is not safe to go on. */
#define CONFINE_NEEDED (CONFINE_NO_SECCOMP | CONFINE_NO_CAPSET | CONFINE_NO_PRIVS)

/* The sanitizers' run-time uses other system calls, and terabytes of address space: these two are not limited then. */
#if defined(__SANITIZE_ADDRESS__)
#define CONFINE_IS_SANITIZED 1
#else
#define CONFINE_IS_SANITIZED 0
#endif

enum confine_role {
	CONFINE_PARSER,	  /* reads what it is sent */
	CONFINE_OPENER,	  /* opens files and inspects processes, for others to read */
	CONFINE_FETCHER,  /* downloads into the files that it is sent */
	CONFINE_ATTACHER, /* attaches BPF programs to the files that it is sent */
};

/* Keeps fd, as CONFINE_FD. Returns the set of what is missing. */
uint32_t confine_process(int fd, enum confine_role role);
/* The last step. 0, or CONFINE_NO_SECCOMP. */
uint32_t confine_calls(enum confine_role role);

#endif
