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
	bool has_ended;
	uint64_t first_ns,
		last_ns; /* of its clock: when it became a target, when it was looked at */
};

struct cputime {
	int targets_fd; /* BPF's map of targets */
	bool all;	/* everybody's, by /proc/stat */
	uint64_t all_first_ns;
	uint64_t ended_first_ns;
	vec_of(struct cputime_process) processes;
};

/* targets_fd is borrowed. */
void cputime_open(struct cputime *cputime, int targets_fd, bool all);
/* tgid is a target from now on. */
void cputime_add(struct cputime *cputime, uint32_t tgid);
/* Sampling begins. ended_ns: the counter (tally.ended_ns). */
void cputime_begin(struct cputime *cputime, uint64_t ended_ns);
/* The time since. To be called every second or so. */
uint64_t cputime_read(struct cputime *cputime, uint64_t ended_ns);
void cputime_release(struct cputime *cputime);

#endif
