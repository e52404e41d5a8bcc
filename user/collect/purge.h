/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes the blocks of images that have ended (of exit or exec) out of the live maps: nobody can free
 * them any more, and there is room for a million. BPF notes the ends in the map `holders`; here that
 * is looked at after each drain, and the live maps swept if there is a reason to.
 */
#ifndef CPROF_COLLECT_PURGE_H
#define CPROF_COLLECT_PURGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "cprof_abi.h"

/* Of bpf/live.bpf.c. */
struct purge_maps {
	int live_fds[2], holders_fd;
	volatile uint32_t *filter;	   /* of ABI_LIVE_FILTER; changed here as it is there */
	const volatile uint32_t *nr_ended; /* how many images have ended so far */
};

struct purge {
	struct purge_maps maps;
	uint32_t nr_seen;			 /* of nr_ended */
	uint64_t next_ns;			 /* no sweep before */
	vec_of(struct abi_image) exited, execed; /* of the sweep under way, sorted */
	struct abi_block_key *keys;		 /* one batch */
	uint64_t *ids;
	uint64_t nr_left;   /* blocks taken out so far: of images that exited */
	uint64_t nr_purged; /* of images that another one replaced */
};

void purge_open(struct purge *purge, const struct purge_maps *maps);
/*
 * Without a purge_open(), nothing. Sweeps, if an image with blocks has ended since the last time. A
 * sweep goes through all live blocks (0.1 s for a million blocks), so that unless it is urgent there
 * is none for 20 times as long as the last one took. 0 or -errno, not printed: what could not be taken
 * out is still there.
 */
int purge_sweep(struct purge *purge, bool urgent);
/* How many live blocks there are. */
uint64_t purge_count_live(struct purge *purge);
void purge_release(struct purge *purge);

#endif
