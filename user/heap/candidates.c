// SPDX-License-Identifier: BSD-2-Clause
/*
 * The queue is sorted when the first one is taken after others were added. Ranks are given first, by sorting the
 * files of each user; then all are sorted by rank.
 */
#include "heap/candidates.h"

#include <stdlib.h>

struct key {
	uint32_t tgid, file;
};

void candidates_release(struct candidates *candidates)
{
	vec_release(&candidates->all);
	vec_release(&candidates->queue);
	vec_release(&candidates->inodes);
	vec_release(&candidates->quotas);
	hash_release(&candidates->by_file);
	hash_release(&candidates->by_inode);
}

static bool same_file(const void *ctx, uint32_t value, const void *key)
{
	const struct candidates *candidates = ctx;
	const struct candidate *candidate = &candidates->all.at[value];
	const struct key *wanted = key;

	return candidate->tgid == wanted->tgid && candidate->file == wanted->file;
}

static uint64_t code_of(uint32_t tgid, uint32_t file)
{
	return hash_u64((uint64_t)tgid << 32 | file);
}

struct candidate *candidates_find(const struct candidates *candidates, uint32_t tgid, uint32_t file)
{
	const struct key key = {tgid, file};
	uint32_t i =
		hash_find(&candidates->by_file, code_of(tgid, file), same_file, candidates, &key);

	return i == HASH_NONE ? NULL : &candidates->all.at[i];
}

static void enqueue(struct candidates *candidates, uint32_t i)
{
	vec_push(&candidates->queue, i);
	candidates->is_sorted = false;
}

void candidates_add(struct candidates *candidates, const struct candidate *candidate)
{
	hash_insert(&candidates->by_file, code_of(candidate->tgid, candidate->file),
		    candidates->all.nr);
	vec_push(&candidates->all, *candidate);
	candidates->all.at[candidates->all.nr - 1].nr_users = 1;
	enqueue(candidates, candidates->all.nr - 1);
}

void candidates_use(struct candidates *candidates, struct candidate *candidate, uint32_t user)
{
	if (candidate->last_user == user)
		return;
	candidate->last_user = user;
	candidate->nr_users++;
	candidates->is_sorted = false;
}

void candidates_again(struct candidates *candidates, struct candidate *candidate)
{
	candidate->state = CANDIDATE_WAITS;
	enqueue(candidates, candidate - candidates->all.at);
}

/* Negative: a is more used than b. The position makes the order definite. */
static int compare_use(const struct candidates *candidates, uint32_t i, uint32_t j)
{
	const struct candidate *a = &candidates->all.at[i], *b = &candidates->all.at[j];

	if (a->nr_users != b->nr_users)
		return a->nr_users > b->nr_users ? -1 : 1;
	if (a->is_known != b->is_known)
		return a->is_known ? -1 : 1;
	if (a->mapped_bytes != b->mapped_bytes)
		return a->mapped_bytes > b->mapped_bytes ? -1 : 1;
	return i < j ? -1 : i > j;
}

static int by_user(const void *p, const void *q, void *ctx)
{
	const struct candidates *candidates = ctx;
	uint32_t i = *(const uint32_t *)p, j = *(const uint32_t *)q;
	uint32_t a = candidates->all.at[i].uid, b = candidates->all.at[j].uid;

	return a != b ? (a < b ? -1 : 1) : compare_use(candidates, i, j);
}

/* The last one is the next. */
static int by_rank(const void *p, const void *q, void *ctx)
{
	const struct candidates *candidates = ctx;
	uint32_t i = *(const uint32_t *)p, j = *(const uint32_t *)q;
	uint32_t a = candidates->all.at[i].rank, b = candidates->all.at[j].rank;

	return a != b ? (a > b ? -1 : 1) : compare_use(candidates, j, i);
}

static void sort(struct candidates *candidates)
{
	size_t nr = candidates->queue.nr;
	uint32_t *queue = candidates->queue.at;

	qsort_r(queue, nr, sizeof(*queue), by_user, candidates);
	for (size_t i = 0; i < nr; i++) {
		struct candidate *candidate = &candidates->all.at[queue[i]];
		const struct candidate *before = i ? &candidates->all.at[queue[i - 1]] : NULL;

		candidate->rank = before && before->uid == candidate->uid ? before->rank + 1 : 0;
	}
	qsort_r(queue, nr, sizeof(*queue), by_rank, candidates);
	candidates->is_sorted = true;
}

struct candidate *candidates_next(struct candidates *candidates)
{
	if (!candidates->queue.nr)
		return NULL;
	if (!candidates->is_sorted)
		sort(candidates);
	return &candidates->all.at[candidates->queue.at[--candidates->queue.nr]];
}

static bool same_inode(const void *ctx, uint32_t value, const void *key)
{
	const struct candidates *candidates = ctx;
	const struct candidate_inode *a = &candidates->inodes.at[value], *b = key;

	return a->tgid == b->tgid && a->device == b->device && a->inode == b->inode;
}

bool candidates_stands_for(struct candidates *candidates, const struct candidate *candidate,
			   uint64_t device, uint64_t inode)
{
	const struct candidate_inode key = {candidate->tgid, candidate->file, device, inode};
	uint64_t code = hash_combine(hash_combine(hash_u64(key.tgid), device), inode);
	uint32_t i = hash_find(&candidates->by_inode, code, same_inode, candidates, &key);

	if (i != HASH_NONE)
		return candidates->inodes.at[i].file == key.file;
	hash_insert(&candidates->by_inode, code, candidates->inodes.nr);
	vec_push(&candidates->inodes, key);
	return true;
}

static struct candidate_quota *quota_of(const struct candidates *candidates, uint32_t uid)
{
	vec_for_each(&candidates->quotas, quota)
		if (quota->uid == uid)
			return quota;
	return NULL;
}

bool candidates_has_room(const struct candidates *candidates, uint32_t uid)
{
	const struct candidate_quota *quota = quota_of(candidates, uid);

	if (candidates->most && candidates->nr_probed >= candidates->most)
		return false;
	return !quota || quota->nr < candidates->most_for_user;
}

bool candidates_admit(struct candidates *candidates, const struct candidate *candidate)
{
	struct candidate_quota *quota = quota_of(candidates, candidate->uid);

	if (!candidates_has_room(candidates, candidate->uid))
		return false;
	candidates->nr_probed++;
	if (quota)
		quota->nr++;
	else
		vec_push(&candidates->quotas, (struct candidate_quota){candidate->uid, 1});
	return true;
}
