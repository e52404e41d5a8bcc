/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps BPF links so that all of them are detached together, in a moment, however cprof ends.
 *
 * Closing the descriptor of a uprobe link waits for grace periods of the kernel: 80 ms each, one after the other, also
 * when the process is killed; and for every process that maps the file (collect/uprobelink.h). Links in the store have no
 * descriptor, and are detached side by side, by threads of the kernel.
 */
#ifndef CPROF_COLLECT_LINKSTORE_H
#define CPROF_COLLECT_LINKSTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct linkstore {
	bool has_folder; /* a bpffs of our own; without it descriptors are kept */
	int folder_fd;
	uint32_t nr_named;
	vec_of(int) fds; /* of links that could not be put there */
};

/* Without the privilege to mount links are kept by their descriptors, as in a zeroed store. */
void linkstore_open(struct linkstore *store);
/* Detaches all links. If linkstore_is_bulk(), it does not wait for that to be complete. */
void linkstore_release(struct linkstore *store);
/* Are links detached side by side? */
bool linkstore_is_bulk(const struct linkstore *store);

/* Keeps a link. Takes ownership of its descriptor. */
void linkstore_keep(struct linkstore *store, int link_fd);

/* How much there was to some time. */
struct linkstore_mark {
	uint32_t nr_named;
	size_t nr_fds;
};
struct linkstore_mark linkstore_mark(const struct linkstore *store);
/* Detaches the links that were added since, by the same way. */
void linkstore_drop_since(struct linkstore *store, struct linkstore_mark mark);

#endif
