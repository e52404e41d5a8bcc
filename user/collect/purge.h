/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removes the blocks of images that have ended (by exit or exec) from the live maps.
 *
 * Nobody can free these blocks any more, and the maps hold at most a million. BPF notes which images ended in the map
 * `holders`; it is read here after each drain, and the live maps are swept if it names any.
 */
#ifndef CPROF_COLLECT_PURGE_H
#define CPROF_COLLECT_PURGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/session.h"
#include "cprof_abi.h"

/* The maps of bpf/live.bpf.c. */
struct purge_maps {
	int live_fds[2], holders_fd, peaks_fd;
	uint32_t block_bytes;		   /* of struct abi_block: as many as the live maps keep */
	volatile uint32_t *filter;	   /* of ABI_LIVE_FILTER; changed here as it is there */
	const volatile uint32_t *nr_ended; /* how many images have ended so far */
};

struct purge {
	struct purge_maps maps;
	uint32_t nr_noticed, nr_seen;		 /* of nr_ended: by the next sweep, by the last */
	uint64_t next_ns;			 /* no sweep before */
	vec_of(struct abi_image) exited, execed; /* of the sweep under way, sorted */
	struct abi_block_key *keys;		 /* one batch */
	uint8_t *blocks;			 /* each block_bytes long */
	uint64_t nr_left;   /* blocks taken out so far: of images that exited */
	uint64_t nr_purged; /* of images that another one replaced */
};

/* maps is copied; the descriptors and pointers in it are borrowed until purge_release(). */
void purge_open(struct purge *purge, const struct purge_maps *maps);
/*
 * Notices what has ended so far. A grace period must follow before the sweep: BPF notes an image and then counts it, but on
 * a machine with weak order the count may be seen first (doc/architecture.md, "Memory order").
 */
void purge_notice(struct purge *purge);
/*
 * Sweeps if an image with blocks had ended at the last purge_notice(), and not before the one of the last sweep; an urgent one
 * always looks, as no program may run any more. Does nothing without a purge_open(). A sweep visits all live blocks (0.1 s for a million), so unless it is urgent the next one waits for 20 times as long as the last
 * one took. Blocks of processes that exited go to sink->block, peaks of images that ended to sink->peak; sink NULL: to nobody. 0 or -errno, not printed: blocks
 * that could not be removed stay in the maps.
 */
int purge_sweep(struct purge *purge, const struct session_sink *sink, bool urgent);
/* Calls sink->block for each live block, whose values must be whole. */
void purge_each_live(struct purge *purge, const struct session_sink *sink);
/* The number of live blocks; visits them all. */
uint64_t purge_count_live(struct purge *purge);
void purge_release(struct purge *purge);

#endif
