/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches heap probes to every allocator that targets map, now or later.
 *
 * Probes are attached once for each process and file. With -a, or if children are followed, they are attached once for
 * each file and work in every process: a probe for one process does not work in its child, and attaching one when the
 * child is announced would miss its first allocations. BPF then ignores processes that are no targets, but these pay for
 * the trap too.
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
		targets; /* with their descendants: their mappings are probed; unused with all */
	struct hash targets_index; /* by tgid: a fork server has many children */
	vec_of(struct probed) probed;
	uint32_t nr_sites; /* functions probed so far */
	const struct managed
		*managed; /* a target's runtime that allocates by itself; NULL: none met */
	int err;	  /* the first failure to attach */
};

/* Adds a target; called before prober_on_map() for its mappings. */
void prober_add_target(struct prober *prober, uint32_t tgid);
/*
 * Probes map's file if it is an allocator and process is a target. Of type tasks_on_map_fn: ctx is the prober. A failure
 * to attach is printed, and the first one kept in prober->err.
 */
void prober_on_map(void *ctx, const struct process *process, const struct mapping *map);
/* The same for the file at path, which the target tgid will map when it runs. */
void prober_expect(struct prober *prober, uint32_t tgid, const char *path);
void prober_release(struct prober *prober);

#endif
