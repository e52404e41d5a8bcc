/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hinge: the plain records that cross from one room to another. No functions, no pointers that
 * anybody owns: everything a record points at is borrowed for the call that hands it over.
 *
 * What the kernel side sends is split in two, because a stack is long and a count is short:
 *
 *	struct record	what a sample looked like (who, where, how large), sent once when BPF
 *			meets it for the first time, under a 64-bit id;
 *	struct count	how often that id was seen, handed over at every drain. Counts add up.
 *
 * Three address words, never mixed: ip (a runtime address of one process), file_off (an offset in a
 * file), elf_addr (an address as the ELF file has it). Two task words: tgid (what users call the
 * pid) and tid. Times are CLOCK_MONOTONIC nanoseconds.
 */
#ifndef CPROF_STREAM_H
#define CPROF_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#define COMM_BYTES 16 /* TASK_COMM_LEN, NUL included */

struct record {
	uint64_t id;	       /* what the counts refer to */
	uint32_t tgid;	       /* 0 is never sent */
	uint32_t tid;	       /* 0 unless threads are told apart */
	uint64_t start_ns;     /* start of the process: with tgid its identity */
	uint64_t time_ns;      /* when the record was first met */
	char comm[COMM_BYTES]; /* of the thread where tid is set, else of the process */

	/* Leaf first. ips[0] is exact, the rest are return addresses. */
	const uint64_t *kernel_ips, *user_ips;
	uint32_t nr_kernel, nr_user;
	/* Why the user stack is not whole, in a few words that follow "truncated: "; NULL if it is. */
	const char *truncated;

	uint64_t size_bytes; /* heap: the size asked for; CPU: 0 */
};

struct count {
	uint64_t id;
	uint64_t nr_taken; /* CPU: ticks; heap: sampled allocations */
	uint64_t nr_freed; /* heap: how many of them are gone again; CPU: 0 */
};

enum task_event_kind {
	TASK_FORK, /* tgid is a new process, child of parent_tgid (new threads are not reported) */
	TASK_EXEC, /* tgid runs a new image: all its mappings are gone; comm is its new name */
	TASK_COMM, /* the process (tid == tgid) or a thread has a new name */
	TASK_MAP,  /* an executable mapping was made */
	TASK_EXIT, /* a task ended; the process lives on while other threads do */
	TASK_LOST, /* the kernel dropped events: what is known of every process may be old */
};

/* One executable mapping, as the kernel announces it or /proc/PID/maps lists it. */
struct map_event {
	uint64_t start, limit; /* ips [start, limit) */
	uint64_t file_off;     /* of start */
	uint32_t dev_major, dev_minor;
	uint64_t inode; /* 0: not a file */
	const char
		*path; /* "" if none, "[vdso]", "//anon", or the path in the target's namespace */
};

struct task_event {
	enum task_event_kind kind;
	uint64_t time_ns;
	uint32_t tgid, tid;
	uint32_t parent_tgid;  /* TASK_FORK */
	char comm[COMM_BYTES]; /* TASK_EXEC, TASK_COMM */
	struct map_event map;  /* TASK_MAP */
	uint64_t nr_lost;      /* TASK_LOST */
};

#endif
