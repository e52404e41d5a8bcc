// SPDX-License-Identifier: BSD-2-Clause
/*
 * A fork inherits its parent's mappings, in whatever order, and with them the answer: so for a process that was not met
 * before, and has not executed anything since, nothing is to be done. The command's own image before its exec is such
 * a one, too: it is cprof's.
 */
#include "heap/served.h"

#include "process/files.h"

static bool same_tgid(const void *ctx, uint32_t value, const void *key)
{
	const struct served *served = ctx;

	return served->images.at[value].tgid == *(const uint32_t *)key;
}

static struct served_image *find(const struct served *served, uint32_t tgid)
{
	uint32_t i = hash_find(&served->by_tgid, hash_u64(tgid), same_tgid, served, &tgid);

	return i == HASH_NONE ? NULL : &served->images.at[i];
}

/* The image that process runs now. */
static struct served_image *image_of(struct served *served, const struct process *process)
{
	uint64_t since_ns = process->images.at[process->images.nr - 1]->since_ns;
	struct served_image *image = find(served, process->tgid);
	const struct served_image *parent = find(served, process->parent_tgid);
	struct served_image next = {
		.tgid = process->tgid, .since_ns = since_ns, .waits = FILE_NONE};

	if (image && image->since_ns == since_ns)
		return image;
	if (image) {
		*image = next;
		return image;
	}
	next.is_known = process->images.nr == 1;
	next.is_served = !parent || !parent->is_known || parent->is_served;
	hash_insert(&served->by_tgid, hash_u64(next.tgid), served->images.nr);
	vec_push(&served->images, next);
	return &served->images.at[served->images.nr - 1];
}

struct served_answer served_on_map(struct served *served, const struct process *process,
				   uint32_t file)
{
	struct served_image *image = image_of(served, process);
	struct served_answer answer = {FILE_NONE, {FILE_NONE, FILE_NONE}};

	if (file == FILE_NONE)
		return answer;
	if (image->is_known) {
		if (!image->is_served)
			answer.in_it_alone[0] = file;
		return answer;
	}
	if (image->nr_maps && file == image->last)
		return answer;
	image->last = file;
	image->nr_maps++;
	if (file == served->library) {
		image->is_known = image->is_served = true;
	} else if (image->nr_maps == 1) {
		answer.everywhere = file;
	} else if (image->nr_maps == 2) {
		image->waits = file;
	} else {
		image->is_known = true;
		answer.in_it_alone[0] = image->waits;
		answer.in_it_alone[1] = file;
	}
	return answer;
}

void served_release(struct served *served)
{
	vec_release(&served->images);
	hash_release(&served->by_tgid);
}
