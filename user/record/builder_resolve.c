// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whose the samples are: the process and the image of each entry, and the entries of each process together.
 *
 * Asked when results are asked for, since an exec or a mapping may be announced after the samples that ran it.
 */
#include "record/builder_state.h"

#include <stdlib.h>

/* Process by process, within one in the order of arrival. */
static int compare_entries(const void *a, const void *b, void *ctx)
{
	const struct builder *builder = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct process *p = builder->entries.at[i].image->process;
	const struct process *q = builder->entries.at[j].image->process;

	if (p == q)
		return compare_u64(i, j);
	if (p->tgid != q->tgid)
		return compare_u64(p->tgid, q->tgid);
	if (p->start_ns != q->start_ns)
		return compare_u64(p->start_ns, q->start_ns);
	return compare_u64((uintptr_t)p, (uintptr_t)q);
}

static int compare_groups(const void *a, const void *b)
{
	const struct group *p = a, *q = b;

	if (p->built.nr_taken != q->built.nr_taken)
		return compare_u64(q->built.nr_taken, p->built.nr_taken);
	return compare_u64(p->first, q->first);
}

/* Fills builder->order: the entries that have anything to show, grouped. */
static void order_entries(struct builder *builder)
{
	builder->order.nr = 0;
	for (size_t i = 0; i < builder->entries.nr; i++) {
		struct entry *entry = &builder->entries.at[i];

		if (!entry->nr_taken || !builder_is_whole(builder, entry))
			continue;
		entry->image =
			tasks_image(builder->tasks, entry->tgid, entry->start_ns, entry->time_ns);
		entry->image->process->is_sampled = true;
		vec_push(&builder->order, i);
	}
	if (builder->order.nr)
		qsort_r(builder->order.at, builder->order.nr, sizeof(*builder->order.at),
			compare_entries, builder);
}

static void add_to_group(struct group *group, const struct entry *entry)
{
	group->nr++;
	group->built.process = entry->image->process;
	group->built.nr_taken += entry->nr_taken;
	if (!group->last_image || entry->time_ns >= group->last_ns) {
		group->last_image = entry->image;
		group->last_ns = entry->time_ns;
		group->built.comm = entry->image->comm;
	}
}

void builder_resolve(struct builder *builder)
{
	const struct process *previous = NULL;

	if (builder->is_resolved)
		return;
	order_entries(builder);
	builder->groups.nr = 0;
	for (uint32_t i = 0; i < builder->order.nr; i++) {
		const struct entry *entry = &builder->entries.at[builder->order.at[i]];

		if (entry->image->process != previous)
			vec_push(&builder->groups, (struct group){.first = i});
		previous = entry->image->process;
		add_to_group(&builder->groups.at[builder->groups.nr - 1], entry);
	}
	builder_resolve_peaks(builder);
	if (builder->groups.nr)
		qsort(builder->groups.at, builder->groups.nr, sizeof(*builder->groups.at),
		      compare_groups);
	builder->processes.nr = 0;
	for (size_t i = 0; i < builder->groups.nr; i++)
		vec_push(&builder->processes, builder->groups.at[i].built);
	builder->is_resolved = true;
}

const struct built_process *builder_processes(struct builder *builder, size_t *nr)
{
	builder_resolve(builder);
	*nr = builder->processes.nr;
	return builder->processes.at;
}
