/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts heap probes on every allocator that targets have mapped or map later, once for each process
 * and file, or once for each file: where every process is a target, and where their children are to
 * be followed. A probe for one process does not work in its child, and one put there when the child
 * is heard of would come too late for its first allocations. So then it is for every process that maps
 * the file, and BPF sorts out who is meant; the others pay for the trap.
 */
#ifndef CPROF_HEAP_PROBER_H
#define CPROF_HEAP_PROBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "collect/session.h"
#include "heap/managed.h"
#include "object/object.h"
#include "process/task.h"

struct probed {
	uint32_t tgid, file;
	uint64_t device,
		inode; /* of the open file: one may be known by several ids (see opener.h) */
};

struct prober {
	struct session *session;
	struct objects *objects;
	struct files *files;
	bool all;
	bool follow_forks; /* children of targets are targets */
	bool allocs_only;  /* frees are not probed */
	vec_of(uint32_t)
		targets; /* whose mappings matter, unless all; and who descends from them */
	struct hash targets_index; /* by tgid: a fork server has many children */
	vec_of(struct probed) probed;
	uint32_t nr_sites; /* functions probed so far */
	const struct managed
		*managed; /* a target's runtime that allocates by itself; NULL: none met */
	int err;	  /* the first failure to attach */
};

/* For each target, before anything is mapped. */
void prober_add_target(struct prober *prober, uint32_t tgid);
/* Of type tasks_on_map_fn: ctx is the prober. */
void prober_on_map(void *ctx, const struct process *process, const struct mapping *map);
/* The same for a file that tgid, a target, has not mapped yet, but will. */
void prober_expect(struct prober *prober, uint32_t tgid, const char *path);
void prober_release(struct prober *prober);

#endif
