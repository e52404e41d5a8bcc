/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Orders processes by CPU time, most recent use first.
 *
 * CPU time is that between two looks at /proc, to a clock tick (10 ms); among equals, all CPU time before.
 * For work that cannot cover every process and should begin with those that matter.
 */
#ifndef CPROF_PROCESS_BUSIEST_H
#define CPROF_PROCESS_BUSIEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct busy_process {
	uint32_t tgid;
	uint64_t start_ticks; /* with tgid its identity */
	uint64_t cpu_ticks;
};

/* What the first look saw; zeroed: there was none. */
struct busiest {
	vec_of(struct busy_process) before; /* sorted by tgid */
};

/* The first look: reads the CPU time of every process. -errno: /proc cannot be listed. */
int busiest_look(struct busiest *busiest, const char *proc_root);
/*
 * The second look: the tgids of all processes in *tgids (owned by the caller: free()) and their number in
 * *nr, the busiest since the first look first. -errno: /proc cannot be listed.
 */
int busiest_order(const struct busiest *busiest, const char *proc_root, uint32_t **tgids,
		  size_t *nr);
void busiest_release(struct busiest *busiest);

#endif
