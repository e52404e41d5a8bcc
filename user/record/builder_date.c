// SPDX-License-Identifier: BSD-2-Clause
/*
 * When samples in JIT code were taken, so that their names are those of that time.
 *
 * A record says when its stack was met first, and counts come with every drain. Other code may be at the same ips by then: its
 * process has written new JIT symbols. All that a drain counts is later than the drain before, and is taken to be of the
 * time of the last look at the files (process/jitsymfiles.h) before that one. Blocks of a heap stay with the entry that they
 * were counted in, by which they are freed.
 */
#include "record/builder_state.h"

/* The last mark that is not after time_ns, but for the first. NULL: none. */
static const struct jitsymfiles_mark *last_growth(const struct jitsymfiles *files, uint64_t time_ns)
{
	size_t i = vec_partition(&files->marks, mark, mark->time_ns <= time_ns);

	return i > 1 ? &files->marks.at[i - 1] : NULL;
}

static bool is_in_memory(const struct builder *builder, struct image *image,
			 const struct entry *entry)
{
	const struct stack *stack = &builder->stacks.at[entry->user_stack];
	const struct mapping *map;

	for (uint32_t i = 0; i < stack->nr; i++) {
		map = tasks_mapping(builder->tasks, image, ip_named(stack->ips[i], i > 0),
				    entry->time_ns);
		if (map &&
		    jitsymfiles_is_memory(strtab_get(tasks_names(builder->tasks), map->name)))
			return true;
	}
	return false;
}

/* A copy of the entry keeps what was counted. */
static void begin_again(struct builder *builder, struct entry *entry, uint64_t time_ns)
{
	struct entry before = *entry;

	entry->time_ns = time_ns;
	entry->nr_taken = entry->nr_ended = entry->nr_joined = 0;
	for (int i = 0; i < NR_MARKS; i++)
		entry->nr_marked[i] = 0;
	if (before.nr_taken)
		vec_push(&builder->entries, before);
}

void builder_date(struct builder *builder, struct entry *entry)
{
	const struct jitsymfiles_mark *mark;
	struct image *image;

	if (!entry->has_record || entry->dated_ns >= builder->counted_ns)
		return;
	image = tasks_image(builder->tasks, entry->tgid, entry->start_ns, builder->counted_ns);
	mark = image->jitsym_files ? last_growth(image->jitsym_files, builder->counted_ns) : NULL;
	if (mark && jitsymfiles_at(image->jitsym_files, entry->time_ns)->time_ns < mark->time_ns &&
	    is_in_memory(builder, image, entry))
		begin_again(builder, entry,
			    mark->until_ns < builder->counted_ns ? mark->until_ns
								 : builder->counted_ns);
	else
		entry->dated_ns = builder->counted_ns;
}
