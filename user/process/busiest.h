/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes by how busy they are: what they were on a CPU between two looks at /proc, to a clock tick
 * (10 ms), and before that. For whoever cannot look at all of them, and begins with what matters.
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

/* The first look; zeroed: there was none. */
struct busiest {
	vec_of(struct busy_process) before; /* by tgid */
};

/* -errno: there is no list of processes. */
int busiest_look(struct busiest *busiest, const char *proc_root);
/*
 * The second look: all processes there are, the busiest since the first one first, among equals the
 * busiest ever. *tgids is the caller's: free(). -errno.
 */
int busiest_order(const struct busiest *busiest, const char *proc_root, uint32_t **tgids,
		  size_t *nr);
void busiest_release(struct busiest *busiest);

#endif
