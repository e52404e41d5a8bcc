// SPDX-License-Identifier: BSD-2-Clause
/*
 * What each process held at its peak.
 *
 * BPF finds the peak of each image (bpf/life.bpf.c); a process that has had several shows the highest of them. An entry
 * whose peak_ns is that of the image was counted after the peak, and has kept what it was then; the others have not
 * changed since. Entries of other images of the process are 0: these were over, or had not begun.
 *
 * A tgid that is used again by a process with as many execs behind it has the same key in BPF. Which process it was is
 * told by the time of the peak.
 *
 * Of a process without a known peak (BPF's map of them was full) is shown what it held at the end.
 */
#include "record/builder_state.h"

#include <stdlib.h>

static bool same_peak(const void *ctx, uint32_t value, const void *key)
{
	const struct builder *builder = ctx;
	const struct known_peak *known = &builder->peaks.at[value];
	const struct peak *peak = key;

	return !known->is_over && known->peak.tgid == peak->tgid &&
	       known->peak.exec_id == peak->exec_id;
}

static const struct image *image_of(const struct builder *builder, const struct peak *peak)
{
	return tasks_image(builder->tasks, peak->tgid, 0, peak->at_ns);
}

void builder_peak(struct builder *builder, const struct peak *peak)
{
	uint64_t code = hash_u64((uint64_t)peak->tgid << 32 | peak->exec_id);
	uint32_t i = hash_find(&builder->peak_index, code, same_peak, builder, peak);
	struct known_peak *known = i == HASH_NONE ? NULL : &builder->peaks.at[i];

	if (known && known->peak.at_ns == peak->at_ns)
		return;
	builder->is_resolved = false;
	if (known && image_of(builder, &known->peak)->process == image_of(builder, peak)->process) {
		known->peak = *peak;
		return;
	}
	if (known)
		known->is_over = true;
	hash_insert(&builder->peak_index, code, builder->peaks.nr);
	vec_push(&builder->peaks, (struct known_peak){.peak = *peak});
}

static int compare_tgid(const void *key, const void *element)
{
	uint32_t tgid = *(const uint32_t *)key;
	const struct group *group = element;

	return tgid < group->built.process->tgid ? -1 : tgid > group->built.process->tgid;
}

/* Groups are in the order of their tgids, as the entries. */
static struct group *group_of(struct builder *builder, const struct peak *peak)
{
	struct group *groups = builder->groups.at, *limit = groups + builder->groups.nr;
	struct group *group =
		bsearch(&peak->tgid, groups, builder->groups.nr, sizeof(*groups), compare_tgid);
	const struct process *process;

	if (!group)
		return NULL;
	process = image_of(builder, peak)->process;
	while (group > groups && group[-1].built.process->tgid == peak->tgid)
		group--;
	while (group < limit && group->built.process != process)
		group = group->built.process->tgid == peak->tgid ? group + 1 : limit;
	return group < limit ? group : NULL;
}

static void take_highest(struct builder *builder, const struct peak *peak)
{
	struct group *group = group_of(builder, peak);

	if (!group || peak->bytes <= group->peak_bytes)
		return;
	group->peak_bytes = peak->bytes;
	group->peak = (struct built_peak){.at_ns = peak->at_ns, .image = image_of(builder, peak)};
}

static uint64_t live_of(const struct entry *entry, const struct built_peak *peak)
{
	if (!peak->at_ns)
		return builder_nr_live(entry);
	if (entry->image != peak->image)
		return 0;
	if (entry->peak_ns == peak->at_ns)
		return entry->peak_live;
	return entry->nr_freed < entry->nr_taken ? entry->nr_taken - entry->nr_freed : 0;
}

void builder_resolve_peaks(struct builder *builder)
{
	if (builder->options.kind != PROFILE_HEAP || !builder->groups.nr)
		return;
	vec_for_each(&builder->peaks, known)
		take_highest(builder, &known->peak);
	vec_for_each(&builder->groups, group)
		for (uint32_t i = 0; i < group->nr; i++) {
			struct entry *entry =
				&builder->entries.at[builder->order.at[group->first + i]];

			entry->nr_at_peak = live_of(entry, &group->peak);
		}
}

struct built_peak builder_peak_of(struct builder *builder, const struct process *process)
{
	builder_resolve(builder);
	if (!process)
		return builder->groups.nr == 1 ? builder->groups.at[0].peak
					       : (struct built_peak){0};
	vec_for_each(&builder->groups, group)
		if (group->built.process == process)
			return group->peak;
	return (struct built_peak){0};
}
