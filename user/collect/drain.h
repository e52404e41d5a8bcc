/* SPDX-License-Identifier: BSD-2-Clause */
/* Empties the ring of new records and the map of counts; bpf/cprof_abi.h describes both. */
#ifndef CPROF_COLLECT_DRAIN_H
#define CPROF_COLLECT_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "collect/session.h"

struct drain_words {
	uint64_t *at;
	size_t nr, cap;
};

struct drain_bytes {
	uint8_t *at;
	size_t nr, cap;
};

struct drain {
	struct ring_buffer *ring;
	size_t ring_bytes;	  /* its size */
	size_t left_bytes;	  /* of it, until the reading under way ends */
	int counts_fds[2];	  /* even, odd */
	volatile uint32_t *epoch; /* which of them BPF writes; shared with it */
	uint32_t old_epoch;	  /* the one that drain_deliver() empties */
	struct drain_words
		incoming; /* out of the ring: each its length in words, then so many words */
	struct drain_words messages; /* the same, being delivered */
	vec_of(size_t) stacks;	     /* where in them a struct abi_stack begins */
	vec_of(uint32_t) copies; /* where in stacks the last copy of an id for one purpose begins */
	struct hash by_id;	 /* positions in copies */
	struct drain_bytes copy; /* the pieces of one, put together */
	struct drain_bytes capture;
	struct shadow_frame shadow[SHADOW_MAX_FRAMES];
	bool keeps_lives; /* counts are struct abi_life_count, not struct abi_count */
	uint64_t *ids;	  /* one batch */
	void *counts;
};

/*
 * The descriptors and epoch (shared with BPF) are borrowed until drain_release(); ring_bytes: the size of the ring behind
 * events_fd; keeps_lives: of the session's options. -errno, printed.
 */
int drain_open(struct drain *drain, int events_fd, size_t ring_bytes, const int counts_fds[2],
	       bool keeps_lives, volatile uint32_t *epoch);
/* Reads what is in the ring, to be delivered later, so that the ring has room again. May be called at any time. */
void drain_absorb(struct drain *drain);
/*
 * Begins a new epoch and reads the records of the old one. is_last: BPF was asked to stop before, and what is counted by
 * programs that had not heard of it is in the old epoch too. -errno, printed.
 */
int drain_collect(struct drain *drain, bool is_last);
/* Delivers these records, then the counts of the old epoch. -errno, printed. */
int drain_deliver(struct drain *drain, const struct session_sink *sink);
void drain_release(struct drain *drain);

#endif
