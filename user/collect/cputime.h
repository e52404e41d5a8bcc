/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CPU time that targets have used since sampling began: of those that live by their clocks, of those that ended by a
 * counter of BPF's. It lacks what is not known: threads that end at the same moment on other CPUs, since the last look.
 */
#ifndef CPROF_COLLECT_CPUTIME_H
#define CPROF_COLLECT_CPUTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct cputime_process {
	uint32_t tgid;
	uint64_t first_ns; /* of its clock: when it became a target */
	uint64_t last_ns;  /* the most that was seen; not below first_ns */
};

/* At a time. Of more the CPU time is an underestimate until they end. */
#define CPUTIME_MAX_PROCESSES 4096

struct cputime {
	int targets_fd; /* BPF's map of targets */
	bool all;	/* everybody's, by /proc/stat */
	uint64_t all_first_ns;
	uint64_t ended_first_ns;
	uint64_t seen_ended_ns; /* of those that have ended, what their clocks showed; */
	uint64_t before_ns;	/* and what they had used before they were targets */
	uint64_t left_ns;	/* of those that live on, and are targets no more */
	uint64_t read_ns;	/* what cputime_read() returned */
	bool was_full;
	vec_of(struct cputime_process) processes;
};

/* targets_fd is borrowed. */
void cputime_open(struct cputime *cputime, int targets_fd, bool all);
/* tgid is a target from now on. */
void cputime_add(struct cputime *cputime, uint32_t tgid);
/* Sampling begins. ended_ns: the counter (tally.ended_ns). */
void cputime_begin(struct cputime *cputime, uint64_t ended_ns);
/* The time since; it does not decrease. To be called every second or so. */
uint64_t cputime_read(struct cputime *cputime, uint64_t ended_ns);
void cputime_release(struct cputime *cputime);

#endif
