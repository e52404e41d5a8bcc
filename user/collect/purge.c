// SPDX-License-Identifier: BSD-2-Clause
/*
 * Exact without stopping any process: the ended images are listed first, then every block of one of them
 * is deleted, and counted only if it was this that deleted it; then the images are forgotten. A block
 * that is stored meanwhile belongs to an image that is not on the list. (But for a tgid that is used
 * again within the sweep, by a process with as many execs behind it: tgids are handed out in turn.)
 */
#include "collect/purge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "collect/lives.h"

/* More than a bucket of the map can hold, or a batch of it would not fit. */
#define BATCH 8192
#define PAUSE 20 /* times the CPU time of a sweep: on a busy machine it may have waited, too */

void purge_open(struct purge *purge, const struct purge_maps *maps)
{
	*purge = (struct purge){
		.maps = *maps,
		.keys = xcalloc(BATCH, sizeof(*purge->keys)),
		.blocks = xcalloc(BATCH, maps->block_bytes),
	};
}

static int compare_images(const void *a, const void *b)
{
	const struct abi_image *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return x->exec_id < y->exec_id ? -1 : x->exec_id > y->exec_id;
}

static void list_ended(struct purge *purge)
{
	struct abi_image image, *previous = NULL;
	uint32_t how;

	purge->exited.nr = purge->execed.nr = 0;
	while (!bpf_map_get_next_key(purge->maps.holders_fd, previous, &image)) {
		previous = &image;
		if (bpf_map_lookup_elem(purge->maps.holders_fd, &image, &how))
			continue;
		if (how == ABI_HOLDER_EXITED)
			vec_push(&purge->exited, image);
		else if (how == ABI_HOLDER_EXECED)
			vec_push(&purge->execed, image);
	}
	if (purge->exited.nr)
		qsort(purge->exited.at, purge->exited.nr, sizeof(image), compare_images);
	if (purge->execed.nr)
		qsort(purge->execed.at, purge->execed.nr, sizeof(image), compare_images);
}

static bool is_one_of(const struct abi_image *images, size_t nr, const struct abi_image *image)
{
	return nr && bsearch(image, images, nr, sizeof(*image), compare_images);
}

static void lower_filter(const struct purge *purge, const struct abi_block_key *keys, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		__atomic_fetch_sub(&purge->maps.filter[ABI_LIVE_PLACE(keys[i].address)], 1,
				   __ATOMIC_RELAXED);
}

/* Deletes blocks; how many were still there. */
static uint64_t delete_blocks(const struct purge *purge, int live_fd,
			      const struct abi_block_key *keys, size_t nr)
{
	struct bpf_map_batch_opts opts = {.sz = sizeof(opts)};
	uint64_t nr_deleted = 0;

	for (size_t at = 0; at < nr;) {
		uint32_t some = nr - at;
		int err = bpf_map_delete_batch(live_fd, keys + at, &some, &opts);

		lower_filter(purge, keys + at, some);
		nr_deleted += some;
		at += some + (err ? 1 : 0); /* it ends at one that is gone */
	}
	return nr_deleted;
}

/* Number i of a batch. */
static void deliver_block(const struct purge *purge, uint32_t i, const struct session_sink *sink)
{
	struct abi_block block;

	memcpy(&block, purge->blocks + (size_t)i * purge->maps.block_bytes, sizeof(block));
	sink->block(sink->ctx, block.id, block.born_ns);
}

/*
 * Of a batch, deletes the blocks of images: their keys are brought to its front. If there is a sink they go there first,
 * which must be before anything else is deleted of the batch: their values stay where they are.
 */
static uint64_t delete_of(struct purge *purge, int live_fd, uint32_t nr,
			  const struct abi_image *images, size_t nr_images,
			  const struct session_sink *sink)
{
	uint32_t nr_chosen = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct abi_block_key key = purge->keys[i];

		if (!is_one_of(images, nr_images, &key.image))
			continue;
		if (sink)
			deliver_block(purge, i, sink);
		purge->keys[i] = purge->keys[nr_chosen];
		purge->keys[nr_chosen++] = key;
	}
	return delete_blocks(purge, live_fd, purge->keys, nr_chosen);
}

/* What is done with nr blocks of a map, in purge->keys. */
typedef void visit_fn(struct purge *purge, int live_fd, uint32_t nr, void *ctx);

static int walk_map(struct purge *purge, int live_fd, visit_fn *visit, void *ctx)
{
	struct bpf_map_batch_opts opts = {.sz = sizeof(opts)};
	uint32_t position, nr;
	bool first = true;
	int err;

	do {
		nr = BATCH;
		err = bpf_map_lookup_batch(live_fd, first ? NULL : &position, &position,
					   purge->keys, purge->blocks, &nr, &opts);
		if (err && err != -ENOENT)
			return err;
		visit(purge, live_fd, nr, ctx);
		first = false;
	} while (!err);
	return 0;
}

/* Calls visit for each batch of all live blocks. 0 or -errno. */
static int walk_live(struct purge *purge, visit_fn *visit, void *ctx)
{
	int err = 0;

	for (size_t i = 0; i < 2 && !err; i++)
		err = walk_map(purge, purge->maps.live_fds[i], visit, ctx);
	return err;
}

static void delete_ended(struct purge *purge, int live_fd, uint32_t nr, void *ctx)
{
	purge->nr_left += delete_of(purge, live_fd, nr, purge->exited.at, purge->exited.nr, ctx);
	purge->nr_purged += delete_of(purge, live_fd, nr, purge->execed.at, purge->execed.nr, NULL);
}

/* It may have begun, or held the most, after all peaks were delivered: it has ended, so that its peak is the last now. */
static void forget_image(const struct purge *purge, const struct abi_image *image,
			 const struct session_sink *sink)
{
	if (sink)
		lives_deliver_peak(purge->maps.peaks_fd, image, sink);
	bpf_map_delete_elem(purge->maps.holders_fd, image);
	bpf_map_delete_elem(purge->maps.peaks_fd, image);
}

void purge_notice(struct purge *purge)
{
	if (purge->maps.nr_ended)
		purge->nr_noticed = *purge->maps.nr_ended;
}

/* Is it time to look for images that have ended? Urgent: at the end; one that ended after the last notice is found there, too. */
static bool is_due(const struct purge *purge, bool urgent)
{
	if (!purge->maps.nr_ended)
		return false;
	return urgent ||
	       (purge->nr_noticed != purge->nr_seen && clock_monotonic_ns() >= purge->next_ns);
}

int purge_sweep(struct purge *purge, const struct session_sink *sink, bool urgent)
{
	uint64_t used_ns = clock_thread_cpu_ns();
	int err = 0;

	if (!is_due(purge, urgent))
		return 0;
	list_ended(purge);
	if (purge->exited.nr || purge->execed.nr)
		err = walk_live(purge, delete_ended, (void *)sink);
	purge->next_ns = clock_monotonic_ns() + PAUSE * (clock_thread_cpu_ns() - used_ns);
	if (err)
		return err;
	vec_for_each(&purge->exited, image)
		forget_image(purge, image, sink);
	vec_for_each(&purge->execed, image)
		forget_image(purge, image, sink);
	purge->nr_seen = purge->nr_noticed;
	return 0;
}

static void deliver_all(struct purge *purge, int live_fd, uint32_t nr, void *ctx)
{
	(void)live_fd;
	for (uint32_t i = 0; i < nr; i++)
		deliver_block(purge, i, ctx);
}

void purge_each_live(struct purge *purge, const struct session_sink *sink)
{
	walk_live(purge, deliver_all, (void *)sink);
}

static void add_up(struct purge *purge, int live_fd, uint32_t nr, void *ctx)
{
	uint64_t *sum = ctx;

	(void)purge;
	(void)live_fd;
	*sum += nr;
}

uint64_t purge_count_live(struct purge *purge)
{
	uint64_t nr = 0;

	walk_live(purge, add_up, &nr);
	return nr;
}

void purge_release(struct purge *purge)
{
	vec_release(&purge->exited);
	vec_release(&purge->execed);
	free(purge->keys);
	free(purge->blocks);
}
