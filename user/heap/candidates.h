/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that targets map, as candidates for heap probes: which is examined next, and what became of each.
 *
 * Others choose what they map, so the order is fair: first the most used file of each user, then the second of each,
 * and so on. A file is more used if more processes map it; next come the C library and known allocators, by their
 * names, then the larger ones. And for no user are more than most_for_user files probed.
 */
#ifndef CPROF_HEAP_CANDIDATES_H
#define CPROF_HEAP_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

enum candidate_state {
	CANDIDATE_WAITS,
	CANDIDATE_NONE, /* it is no allocator, or the same file as another candidate */
	CANDIDATE_PROBED,
	CANDIDATE_REFUSED, /* the kernel cannot probe it */
	CANDIDATE_BEYOND,  /* more files than may be probed */
	CANDIDATE_CLOSED,  /* it could not be opened */
	CANDIDATE_HELD	   /* the kernel has not placed its probes yet */
};

struct candidate {
	uint32_t tgid; /* probed for this process; 0: for every one */
	uint32_t file;
	uint32_t uid;	   /* of the first process that mapped it; its tgid where that is not 0 */
	uint32_t nr_users; /* processes that mapped it; the same one may count again later */
	uint32_t last_user;
	uint32_t rank; /* among the files of its user */
	bool is_known; /* by its name it is the C library, or an allocator */
	uint64_t mapped_bytes;
	enum candidate_state state;
	int err; /* of CANDIDATE_REFUSED, CANDIDATE_CLOSED and CANDIDATE_HELD */
};

struct candidate_inode {
	uint32_t tgid, file; /* file: the one that stands for it */
	uint64_t device, inode;
};

struct candidate_quota {
	uint32_t uid, nr;
};

struct candidates {
	vec_of(struct candidate) all;
	struct hash by_file;
	vec_of(uint32_t) queue; /* positions of those that wait, the next one last */
	bool is_sorted;
	struct hash by_inode;
	vec_of(struct candidate_inode) inodes;
	vec_of(struct candidate_quota) quotas; /* how many were probed, by user */
	uint32_t nr_probed;		       /* in all */
	uint32_t most, most_for_user; /* limits; most may be 0: none but that for each user */
};

/* Zeroed is empty. */
void candidates_release(struct candidates *candidates);

/* The candidate for (tgid, file). NULL: there is none yet. Borrowed until one is added. */
struct candidate *candidates_find(const struct candidates *candidates, uint32_t tgid,
				  uint32_t file);
/* Adds a copy of one that there is not yet; it waits. */
void candidates_add(struct candidates *candidates, const struct candidate *candidate);
/* Process user maps it too. */
void candidates_use(struct candidates *candidates, struct candidate *candidate, uint32_t user);
/* It waits again: it can be opened now, or counts for another user. */
void candidates_again(struct candidates *candidates, struct candidate *candidate);

/* Takes the next one out of the queue; its caller sets its state. NULL: none waits. */
struct candidate *candidates_next(struct candidates *candidates);
/*
 * Does it stand for this inode, as the first one does? Two probes at one place would count each call twice, so where the index of the file
 * is new its inode is compared.
 */
bool candidates_stands_for(struct candidates *candidates, const struct candidate *candidate,
			   uint64_t device, uint64_t inode);
/* May one more file of this user be probed? If so, this one counts from now on. */
bool candidates_admit(struct candidates *candidates, const struct candidate *candidate);
/* Could one more file of this user be probed? */
bool candidates_has_room(const struct candidates *candidates, uint32_t uid);

#endif
