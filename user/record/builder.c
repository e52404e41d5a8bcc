// SPDX-License-Identifier: BSD-2-Clause
/*
 * While the run goes on only numbers are kept (builder_state.h).
 *
 * A record and its counts arrive in any order, so either makes the entry. Who a record belongs to
 * (process, image) is asked of process/task twice: when it arrives, so that a process nobody
 * announced is read from /proc while it lives, and again when results are asked for
 * (builder_resolve.c).
 */
#include "record/builder.h"

#include <stdlib.h>
#include <string.h>

#include "record/builder_state.h"

const char *drop_reason_text(enum drop_reason reason)
{
	static const char *const texts[] = {
#define X(id, text) [DROP_##id] = text,
		DROP_REASONS(X)
#undef X
	};

	return texts[reason];
}

struct builder *builder_new(const struct builder_options *options, struct tasks *tasks)
{
	struct builder *builder = xcalloc(1, sizeof(*builder));

	builder->options = *options;
	builder->tasks = tasks;
	vec_push(&builder->stacks, (struct stack){0});
	vec_push(&builder->shadows, (struct shadow_stack){0});
	return builder;
}

void builder_free(struct builder *builder)
{
	if (!builder)
		return;
	vec_release(&builder->entries);
	hash_release(&builder->entry_index);
	vec_release(&builder->stacks);
	hash_release(&builder->stack_index);
	vec_release(&builder->shadows);
	hash_release(&builder->shadow_index);
	arena_release(&builder->arena);
	strtab_release(&builder->strings);
	strtab_release(&builder->end_names);
	vec_release(&builder->ends);
	vec_release(&builder->processes);
	vec_release(&builder->peaks);
	hash_release(&builder->peak_index);
	vec_release(&builder->timelines);
	vec_release(&builder->ages);
	vec_release(&builder->leaks);
	vec_release(&builder->groups);
	vec_release(&builder->order);
	free(builder);
}

/* Collecting ------------------------------------------------------------------------------------- */

static bool same_entry(const void *ctx, uint32_t value, const void *key)
{
	const struct builder *builder = ctx;

	return builder->entries.at[value].id == *(const uint64_t *)key;
}

/* The entry of a record id, made if need be. Borrowed until the next call. */
static struct entry *entry_of(struct builder *builder, uint64_t id)
{
	uint64_t code = hash_u64(id);
	uint32_t i = hash_find(&builder->entry_index, code, same_entry, builder, &id);

	if (i == HASH_NONE) {
		i = builder->entries.nr;
		vec_push(&builder->entries, (struct entry){.id = id});
		hash_insert(&builder->entry_index, code, i);
	}
	return &builder->entries.at[i];
}

static bool same_stack(const void *ctx, uint32_t value, const void *key)
{
	const struct builder *builder = ctx;
	const struct stack *a = &builder->stacks.at[value], *b = key;

	return a->nr == b->nr && !memcmp(a->ips, b->ips, a->nr * sizeof(*a->ips));
}

static uint32_t stack_id(struct builder *builder, const uint64_t *ips, uint32_t nr)
{
	struct stack stack = {ips, nr};
	uint64_t code;
	uint32_t i;

	if (!nr)
		return STACK_EMPTY;
	code = hash_bytes(ips, nr * sizeof(*ips), 0);
	i = hash_find(&builder->stack_index, code, same_stack, builder, &stack);
	if (i != HASH_NONE)
		return i;
	stack.ips = memcpy(arena_alloc(&builder->arena, nr * sizeof(*ips)), ips, nr * sizeof(*ips));
	i = builder->stacks.nr;
	vec_push(&builder->stacks, stack);
	hash_insert(&builder->stack_index, code, i);
	return i;
}

static bool same_shadow(const void *ctx, uint32_t value, const void *key)
{
	const struct builder *builder = ctx;
	const struct shadow_stack *a = &builder->shadows.at[value], *b = key;

	return a->nr == b->nr && a->end == b->end && a->nr_elided == b->nr_elided &&
	       a->nr_elided_entries == b->nr_elided_entries &&
	       !memcmp(a->frames, b->frames, a->nr * sizeof(*a->frames));
}

static uint32_t shadow_id(struct builder *builder, const struct shadow_stack *shadow)
{
	struct shadow_stack stack = *shadow;
	size_t len_bytes = shadow->nr * sizeof(*shadow->frames);
	uint64_t code;
	uint32_t i;

	if ((!shadow->nr && shadow->end == SHADOW_END_ROOT) || !builder->options.framenames)
		return 0;
	code = hash_combine(hash_bytes(shadow->frames, len_bytes, shadow->end), shadow->nr_elided);
	i = hash_find(&builder->shadow_index, code, same_shadow, builder, shadow);
	if (i != HASH_NONE)
		return i;
	stack.frames = memcpy(arena_alloc(&builder->arena, len_bytes), shadow->frames, len_bytes);
	i = builder->shadows.nr;
	vec_push(&builder->shadows, stack);
	hash_insert(&builder->shadow_index, code, i);
	return i;
}

void builder_record(struct builder *builder, const struct record *record)
{
	struct entry *entry = entry_of(builder, record->id);
	struct image *image;

	if (entry->has_record)
		return;
	entry->has_record = true;
	entry->tgid = record->tgid;
	entry->tid = record->tid;
	entry->start_ns = record->start_ns;
	entry->time_ns = entry->dated_ns = record->time_ns;
	entry->size_bytes = record->size_bytes;
	entry->comm = strtab_intern_len(&builder->strings, record->comm, COMM_BYTES);
	entry->end = record->end;
	entry->kernel_stack = stack_id(builder, record->kernel_ips, record->nr_kernel);
	entry->user_stack = stack_id(builder, record->user_ips, record->nr_user);
	entry->shadow = shadow_id(builder, &record->shadow);
	builder->is_resolved = false;

	image = tasks_image(builder->tasks, record->tgid, record->start_ns, record->time_ns);
	image->process->is_sampled = true;
}

/* BPF keeps what an id was at the last peak within an epoch; here it is kept from one epoch to the next. */
static void take_peak(struct entry *entry, const struct life *life)
{
	if (life->peak_ns <= entry->peak_ns)
		return; /* it was counted after this peak before, and kept then */
	entry->peak_ns = life->peak_ns;
	entry->peak_live = entry->nr_taken - entry->nr_freed + life->peak_live;
}

static void take_ages(struct builder *builder, struct entry *entry, const struct life *life)
{
	for (int i = 0; i < LIFE_NR_AGES; i++) {
		if (!life->nr_by_age[i])
			continue;
		if (!entry->ages) {
			vec_push(&builder->ages, (struct entry_ages){0});
			entry->ages = builder->ages.nr;
		}
		builder->ages.at[entry->ages - 1].nr[i] += life->nr_by_age[i];
	}
}

uint64_t builder_nr_by_age(const struct builder *builder, const struct entry *entry, int class)
{
	return entry->ages ? builder->ages.at[entry->ages - 1].nr[class] : 0;
}

void builder_keep_timelines(struct builder *builder, uint64_t start_ns)
{
	builder->clock.start_ns = start_ns;
	timeline_advance(&builder->clock, start_ns);
}

void builder_advance(struct builder *builder, uint64_t now_ns)
{
	builder->counted_ns = builder->advanced_ns;
	builder->advanced_ns = now_ns;
	if (builder->clock.start_ns)
		timeline_advance(&builder->clock, now_ns);
}

/* The timeline of an entry, made if need be; NULL: there are BUILDER_TIMELINES of others. Borrowed until the next call. */
static struct timeline *timeline_of(struct builder *builder, struct entry *entry)
{
	if (!entry->timeline && builder->timelines.nr == BUILDER_TIMELINES)
		return NULL;
	if (!entry->timeline) {
		entry->timeline = builder->timelines.nr + 1;
		vec_push(&builder->timelines, (struct timeline){0});
	}
	return &builder->timelines.at[entry->timeline - 1];
}

void builder_count(struct builder *builder, const struct count *count)
{
	struct entry *entry = entry_of(builder, count->id);
	struct timeline *timeline;

	if (builder->options.kind == PROFILE_CPU && tasks_jitsyms_grew(builder->tasks)) {
		builder_date(builder, entry);
		entry = entry_of(builder, count->id);
	}
	take_peak(entry, &count->life);
	take_ages(builder, entry, &count->life);
	if (count->life.oldest_freed_ns > entry->oldest_freed_ns)
		entry->oldest_freed_ns = count->life.oldest_freed_ns;
	timeline = builder->clock.start_ns ? timeline_of(builder, entry) : NULL;
	if (timeline)
		timeline_add(timeline, &builder->clock,
			     (int64_t)(count->nr_taken - count->nr_freed));
	entry->nr_taken += count->nr_taken;
	entry->nr_freed += count->nr_freed;
	builder->nr_taken += count->nr_taken;
	builder->is_resolved = false;
}

void builder_block(struct builder *builder, uint64_t id, uint64_t born_ns)
{
	struct timeline *timeline = NULL;

	if (builder->clock.start_ns)
		timeline = timeline_of(builder, entry_of(builder, id));
	if (timeline)
		timeline_born(timeline, &builder->clock, born_ns);
}

/* An exec takes the whole heap of the image before it away. */
uint64_t builder_nr_live(const struct entry *entry)
{
	const struct process *process = entry->image->process;

	if (entry->image != process->images.at[process->images.nr - 1] ||
	    entry->nr_freed >= entry->nr_taken)
		return 0;
	return entry->nr_taken - entry->nr_freed;
}

/* Whether an entry is left out of every profile, and why; NR_DROP_REASONS: it is not. */
static enum drop_reason drop_reason_of(const struct builder *builder, const struct entry *entry)
{
	if (!entry->has_record)
		return DROP_NO_RECORD;
	if (builder->options.kind == PROFILE_HEAP && !entry->size_bytes)
		return DROP_ZERO_SIZE;
	return NR_DROP_REASONS;
}

bool builder_is_whole(const struct builder *builder, const struct entry *entry)
{
	return drop_reason_of(builder, entry) == NR_DROP_REASONS;
}

/* A count whose record has not come yet is in no piece so far: it waits for one. */
void builder_mark(struct builder *builder, enum builder_mark mark)
{
	vec_for_each(&builder->entries, entry)
		if (builder_is_whole(builder, entry))
			entry->nr_marked[mark] = entry->nr_taken;
}

uint64_t builder_dropped(const struct builder *builder, enum drop_reason reason)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < builder->entries.nr; i++)
		if (drop_reason_of(builder, &builder->entries.at[i]) == reason)
			nr += builder->entries.at[i].nr_taken;
	return nr;
}

uint64_t builder_taken(const struct builder *builder)
{
	return builder->nr_taken;
}

/* How stacks ended ------------------------------------------------------------------------------- */

void builder_count_end(struct builder *builder, const char *why, uint64_t nr)
{
	uint32_t id = strtab_intern(&builder->end_names, why ? why : "");

	while (builder->ends.nr <= id)
		vec_push(&builder->ends, (struct built_end){0});
	builder->ends.at[id].nr += nr;
}

static int compare_ends(const void *a, const void *b)
{
	const struct built_end *x = a, *y = b;

	return compare_u64(y->nr, x->nr);
}

const struct built_end *builder_ends(struct builder *builder, size_t *nr)
{
	for (uint32_t i = 0; i < builder->ends.nr; i++)
		builder->ends.at[i].why = i ? strtab_get(&builder->end_names, i) : NULL;
	if (builder->ends.nr > 1)
		qsort(builder->ends.at + 1, builder->ends.nr - 1, sizeof(*builder->ends.at),
		      compare_ends);
	*nr = builder->ends.nr;
	return builder->ends.at;
}

/* Interpreted functions -------------------------------------------------------------------------- */

void builder_count_joined(struct builder *builder, const struct entry *entry, bool is_paired)
{
	uint64_t nr = entry->nr_taken - entry->nr_joined;

	builder->joined.nr += nr;
	builder->joined.nr_unpaired += is_paired ? 0 : nr;
	builder->joined.nr_frames += nr * builder->shadows.at[entry->shadow].nr;
}

void builder_count_gone(struct builder *builder, const struct entry *entry)
{
	builder->joined.nr_gone += entry->nr_taken - entry->nr_joined;
}

struct builder_joined builder_joined(const struct builder *builder)
{
	return builder->joined;
}
