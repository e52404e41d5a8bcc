/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF programs that walk the stacks of languages' runtimes, each loaded when the first process of its kind appears.
 *
 * Each kind is an object of its own, which shares maps with the main one. If the kernel refuses it, the stacks of that
 * runtime stay native, and nothing else changes.
 */
#ifndef CPROF_COLLECT_RUNTIMES_H
#define CPROF_COLLECT_RUNTIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/rangealloc.h"
#include "runtime_abi.h"

struct bpf_object;

struct runtime_program {
	struct bpf_object *object; /* NULL: not loaded */
	int layouts_fd;		   /* of its map, borrowed from it */
	bool is_refused;	   /* and will not be loaded */
};

/* Whose programs call those that walk: which kind of program these are. */
struct runtimes_caller {
	bool is_tick;	      /* perf events; else uprobes */
	uint32_t attach_type; /* of the uprobes' programs; 0: none */
};

/* Descriptors of maps of the main object: runtime_walks, and those that the others share with it. Borrowed. */
struct runtimes_maps {
	int walks_fd, shadows_fd, events_fd, scratch_fd;
};

struct runtimes {
	struct runtimes_maps maps;
	struct runtimes_caller caller;
	struct runtime_program programs[ABI_NR_RUNTIMES];
	struct rangealloc places;
};

/* Loads nothing yet. */
void runtimes_open(struct runtimes *runtimes, const struct runtimes_maps *maps,
		   struct runtimes_caller caller);
void runtimes_release(struct runtimes *runtimes);

/*
 * Stores how a runtime of this kind is read: *runtime is what an entry of the map `processes` has (ABI_RUNTIME()). -ENOSPC:
 * ABI_MAX_RUNTIMES are stored; -ENOTSUP: the kernel refuses the program, which is said once.
 */
int runtimes_add(struct runtimes *runtimes, enum abi_runtime kind, const union abi_layout *layout,
		 uint32_t *runtime);
/* No process has it any more; its place is free after runtimes_settle(). 0 is fine. */
void runtimes_remove(struct runtimes *runtimes, uint32_t runtime);
/* Called after a grace period. */
void runtimes_settle(struct runtimes *runtimes);

#endif
