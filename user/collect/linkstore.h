/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps BPF links so that all of them are detached together, in a moment, however cprof ends.
 *
 * Closing the descriptor of a uprobe link waits for grace periods of the kernel: 80 ms each, one after the other, also
 * when the process is killed. Links in the store have no descriptor, and are detached side by side.
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
/* Detaches a link that is not to be kept, by the same way. Takes ownership of its descriptor. */
void linkstore_drop(struct linkstore *store, int link_fd);

#endif
