// SPDX-License-Identifier: BSD-2-Clause
/*
 * What each process held at its peak.
 *
 * BPF finds the peak of each image (bpf/life.bpf.c); a process that has had several shows the highest of them. An entry
 * whose peak_ns is that of the image was counted after the peak, and has kept what it was then; the others have not
 * changed since. Entries of other images of the process are 0: these were over, or had not begun.
 *
 * A tgid that is used again by a process with as many execs behind it has the same key in BPF: a peak that is lower than
 * before is therefore another process's, and does not replace the first.
 */
#include "record/builder_state.h"

void builder_peak(struct builder *builder, const struct peak *peak)
{
	vec_for_each(&builder->peaks, known)
		if (known->tgid == peak->tgid && known->exec_id == peak->exec_id &&
		    known->bytes <= peak->bytes) {
			if (known->at_ns != peak->at_ns)
				builder->is_resolved = false;
			*known = *peak;
			return;
		}
	vec_push(&builder->peaks, *peak);
	builder->is_resolved = false;
}

/* The highest of a process. */
static struct built_peak highest(struct builder *builder, const struct process *process)
{
	struct built_peak found = {0};
	uint64_t most_bytes = 0;

	vec_for_each(&builder->peaks, peak) {
		const struct image *image;

		if (peak->tgid != process->tgid || peak->bytes <= most_bytes)
			continue;
		image = tasks_image(builder->tasks, peak->tgid, 0, peak->at_ns);
		if (image->process != process)
			continue;
		most_bytes = peak->bytes;
		found = (struct built_peak){.at_ns = peak->at_ns, .image = image};
	}
	return found;
}

static uint64_t live_of(const struct entry *entry, const struct built_peak *peak)
{
	if (entry->image != peak->image)
		return 0;
	if (entry->peak_ns == peak->at_ns)
		return entry->peak_live;
	return entry->nr_freed < entry->nr_taken ? entry->nr_taken - entry->nr_freed : 0;
}

void builder_resolve_peaks(struct builder *builder)
{
	if (!builder->peaks.nr)
		return;
	vec_for_each(&builder->groups, group) {
		group->peak = highest(builder, group->built.process);
		for (uint32_t i = 0; i < group->nr; i++) {
			struct entry *entry =
				&builder->entries.at[builder->order.at[group->first + i]];

			entry->nr_at_peak = live_of(entry, &group->peak);
		}
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
