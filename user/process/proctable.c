// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes are indexed by tgid; those that had the same tgid form a list, the latest start first. A process
 * keeps its images in an array by time, nearly always of one or two. Dropping processes builds the index
 * anew: it happens once per prune, and the index has no removal.
 */
#include "process/proctable.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static bool same_tgid(const void *ctx, uint32_t value, const void *key)
{
	const struct proctable *proctable = ctx;

	return proctable->newest.at[value]->tgid == *(const uint32_t *)key;
}

static void index_process(struct proctable *proctable, struct process *process)
{
	uint64_t code = hash_u64(process->tgid);
	uint32_t i = hash_find(&proctable->by_tgid, code, same_tgid, proctable, &process->tgid);
	struct process **link;

	process->older = NULL;
	if (i == HASH_NONE) {
		hash_insert(&proctable->by_tgid, code, proctable->newest.nr);
		vec_push(&proctable->newest, process);
		return;
	}
	link = &proctable->newest.at[i];
	while (*link && (*link)->start_ns > process->start_ns)
		link = &(*link)->older;
	process->older = *link;
	*link = process;
}

struct process *proctable_add(struct proctable *proctable, uint32_t tgid, uint64_t start_ns,
			      uint64_t slack_ns)
{
	struct process *process = xcalloc(1, sizeof(*process));

	process->tgid = tgid;
	process->start_ns = start_ns;
	process->start_slack_ns = slack_ns;
	vec_push(&proctable->all, process);
	index_process(proctable, process);
	return process;
}

struct process *proctable_newest(const struct proctable *proctable, uint32_t tgid)
{
	uint32_t i = hash_find(&proctable->by_tgid, hash_u64(tgid), same_tgid, proctable, &tgid);

	return i == HASH_NONE ? NULL : proctable->newest.at[i];
}

static uint64_t distance_ns(const struct process *process, uint64_t start_ns)
{
	return start_ns > process->start_ns ? start_ns - process->start_ns
					    : process->start_ns - start_ns;
}

bool process_started(const struct process *process, uint64_t start_ns, uint64_t slack_ns)
{
	if (process->start_slack_ns > slack_ns)
		slack_ns = process->start_slack_ns;
	if (process->exited_ns && process->exited_ns < start_ns)
		return false;
	return distance_ns(process, start_ns) <= slack_ns;
}

struct process *proctable_started(const struct proctable *proctable, uint32_t tgid,
				  uint64_t start_ns, uint64_t slack_ns)
{
	struct process *best = NULL;

	for (struct process *p = proctable_newest(proctable, tgid); p; p = p->older)
		if (process_started(p, start_ns, slack_ns) &&
		    (!best || distance_ns(p, start_ns) < distance_ns(best, start_ns)))
			best = p;
	return best;
}

struct process *proctable_at(const struct proctable *proctable, uint32_t tgid, uint64_t time_ns)
{
	struct process *p = proctable_newest(proctable, tgid);

	while (p && p->start_ns > time_ns)
		p = p->older;
	return p;
}

static void image_free(struct image *image)
{
	mappings_release(&image->mappings);
	jitsyms_release(&image->jitsyms);
	jitsymfiles_free(image->jitsym_files);
	free(image);
}

static void process_free(struct process *process)
{
	vec_for_each(&process->images, image)
		image_free(*image);
	vec_release(&process->images);
	free(process);
}

void proctable_drop_over(struct proctable *proctable)
{
	size_t nr = 0;

	/* The index knows no removal: it is made again. */
	hash_release(&proctable->by_tgid);
	proctable->newest.nr = 0;
	for (size_t i = 0; i < proctable->all.nr; i++) {
		struct process *process = proctable->all.at[i];

		if (process->is_over) {
			process_free(process);
			continue;
		}
		proctable->all.at[nr++] = process;
		index_process(proctable, process);
	}
	proctable->all.nr = nr;
}

void proctable_release(struct proctable *proctable)
{
	vec_for_each(&proctable->all, process)
		process_free(*process);
	vec_release(&proctable->all);
	vec_release(&proctable->newest);
	hash_release(&proctable->by_tgid);
}

struct image *process_add_image(struct process *process, uint64_t since_ns)
{
	struct image *image = xcalloc(1, sizeof(*image));
	size_t i = process->images.nr;

	image->process = process;
	image->since_ns = since_ns;
	if (!process->images.cap) { /* most processes exec once, if ever */
		process->images.at = xmalloc(2 * sizeof(*process->images.at));
		process->images.cap = 2;
	}
	vec_push(&process->images, image);
	for (; i && process->images.at[i - 1]->since_ns > since_ns; i--) {
		process->images.at[i] = process->images.at[i - 1];
		process->images.at[i - 1] = image;
	}
	return image;
}

struct image *process_image(const struct process *process, uint64_t time_ns)
{
	size_t i = process->images.nr - 1;

	while (i && process->images.at[i]->since_ns > time_ns)
		i--;
	return process->images.at[i];
}

struct image *process_last_image(const struct process *process)
{
	return process->images.at[process->images.nr - 1];
}

void process_drop_images(struct process *process, uint64_t time_ns)
{
	size_t nr = 0;

	while (nr + 1 < process->images.nr && process->images.at[nr + 1]->since_ns < time_ns)
		image_free(process->images.at[nr++]);
	if (!nr)
		return;
	process->images.nr -= nr;
	memmove(process->images.at, process->images.at + nr,
		process->images.nr * sizeof(*process->images.at));
}
