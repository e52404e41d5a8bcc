/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells which processes sample by themselves: those that the loader has given libcprof-heap.so.
 *
 * What such a process maps besides is called through that library, so it needs no probes; but for its executable, which
 * may have an allocator of its own that comes before all libraries. A process without it is probed from outside.
 *
 * The loader maps in a certain order: executable, loader, preloaded libraries, then all others. So it is known at the
 * third mapping at the latest; the loader's own waits until then, because musl's is the C library, too.
 */
#ifndef CPROF_HEAP_SERVED_H
#define CPROF_HEAP_SERVED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "process/task.h"

/* What a process runs between two execs. */
struct served_image {
	uint32_t tgid;
	uint64_t since_ns;
	uint32_t nr_maps, last;	  /* files mapped; the last of them */
	bool is_served, is_known; /* it is known whether it is served */
	uint32_t waits;		  /* file of the mapping that waits; FILE_NONE: none */
};

struct served {
	uint32_t library; /* the file of libcprof-heap.so */
	vec_of(struct served_image) images;
	struct hash by_tgid; /* the latest one of each */
};

/* The files of a process to probe now that it maps one more. */
struct served_answer {
	uint32_t everywhere;	 /* an executable; FILE_NONE: none */
	uint32_t in_it_alone[2]; /* FILE_NONE: none */
};

/* The next mapping of process: of file. */
struct served_answer served_on_map(struct served *served, const struct process *process,
				   uint32_t file);
void served_release(struct served *served);

#endif
