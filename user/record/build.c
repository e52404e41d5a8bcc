// SPDX-License-Identifier: BSD-2-Clause
/*
 * From what builder.c has collected to a profile.
 *
 * Heap: there is no label for the size, as Go's own profiles have one ("bytes"). BPF's records are
 * one for each (stack, size), because the scaling needs that; but a label would keep them apart in
 * the file too, tens of samples where one stack has tens of sizes, past what Pyroscope takes (16,000)
 * for a question that the average (space / objects) answers.
 */
#include "record/builder.h"

#include <stdlib.h>
#include <string.h>

#include "profile/allocframes.h"
#include "record/build.h"
#include "profile/scale.h"

static void set_heap_types(struct profile *profile, const struct build_order *order)
{
	bool inuse = heap_view_shows_inuse(order->view), leaks = order->view == VIEW_LEAKS;

	if (leaks) {
		profile_add_type(profile, "leak_score", "count");
	} else {
		profile_add_type(profile, "alloc_objects", "count");
		profile_add_type(profile, "alloc_space", "bytes");
	}
	if (inuse) {
		profile_add_type(profile, "inuse_objects", "count");
		profile_add_type(profile, "inuse_space", "bytes");
	}
	if (order->variances && !leaks)
		profile_add_type(profile, "alloc_space_variance", "square_bytes");
	if (order->variances && inuse)
		profile_add_type(profile, "inuse_space_variance", "square_bytes");
	profile->default_type = profile_string(profile, leaks	? "leak_score"
							: inuse ? "inuse_space"
								: "alloc_space");
	if (order->all_frames)
		profile->drop_frames = profile_string(profile, allocator_frames);
}

static int64_t to_value(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : value;
}

static void set_types(struct build *build)
{
	const struct builder_options *options = &build->builder->options;
	/* A period of 0 makes totals of 0 in Parca. */
	int64_t period = options->period ? to_value(options->period) : 1;
	struct profile *profile = build->profile;

	if (options->kind == PROFILE_HEAP) {
		set_heap_types(profile, build->order);
		profile_set_period(profile, "space", "bytes", period);
		return;
	}
	profile_add_type(profile, "samples", "count");
	profile_add_type(profile, "cpu", "nanoseconds");
	profile_set_period(profile, "cpu", "nanoseconds", period);
	profile->default_type = profile_string(profile, "cpu");
}

static int64_t multiply(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : to_value(product);
}

/* Selects the samples of an entry that a view shows, as taken and as in use. */
static void select_samples(const struct entry *entry, enum heap_view view, uint64_t *nr_taken,
			   uint64_t *nr_live)
{
	enum builder_mark mark = view == VIEW_DELTA ? MARK_DELTA : MARK_WINDOW;
	bool is_block = entry->size_bytes; /* a tick is of no size, and nothing that is held */

	*nr_taken = heap_view_is_moment(view) ? 0 : entry->nr_taken - entry->nr_marked[mark];
	*nr_live = 0;
	if (heap_view_shows_inuse(view) && is_block)
		*nr_live = view == VIEW_PEAK	? entry->nr_at_peak
			   : view == VIEW_LEAKS ? entry->nr_leaked
						: builder_nr_live(entry);
}

static struct profile_label number_label(struct profile *profile, const char *key, int64_t num)
{
	return (struct profile_label){.key = profile_string(profile, key), .num = num};
}

static struct profile_label string_label(struct profile *profile, const char *key, const char *s)
{
	/* A label with an empty string is no label. */
	return (struct profile_label){.key = profile_string(profile, key),
				      .str = profile_string(profile, *s ? s : "?")};
}

static uint32_t set_labels(struct build *build, const struct entry *entry,
			   struct profile_label *labels)
{
	struct profile *profile = build->profile;
	const char *name = strtab_get(&build->builder->strings, entry->comm);
	const char *comm = entry->tid ? entry->image->comm : name;
	uint32_t nr = 0;

	labels[nr++] = number_label(profile, "pid", entry->tgid);
	labels[nr++] = string_label(profile, "comm", comm);
	if (!build->builder->options.threads || !entry->tid)
		return nr;
	labels[nr++] = number_label(profile, "tid", entry->tid);
	labels[nr++] = string_label(profile, "thread", name);
	return nr;
}

/* The score once for each suspected stack, whose entries are one sample or several (of its threads). */
static void add_leak(struct builder *builder, const struct entry *entry, size_t at,
		     uint64_t nr_live, struct estimate *estimate)
{
	struct built_leak *leak = &builder->leaks.at[entry->leak - 1];

	scale_heap_add(&leak->inuse, nr_live, entry->size_bytes, builder->options.period);
	if (leak->sample >= 0)
		return;
	leak->sample = at;
	estimate->score += leak->score;
}

/* Adds nr_taken and nr_live of an entry's blocks to the sample of its stack and labels. */
static void add_blocks(struct build *build, const struct entry *entry,
		       const struct profile_sample *sample, uint64_t nr_taken, uint64_t nr_live)
{
	uint64_t period = build->builder->options.period;
	struct estimate *estimate;
	size_t at = profile_add_sample(build->profile, sample);

	if (at == build->estimates.nr)
		vec_push(&build->estimates, (struct estimate){0});
	estimate = &build->estimates.at[at];
	if (build->order->view == VIEW_LEAKS)
		add_leak(build->builder, entry, at, nr_live, estimate);
	scale_heap_add(&estimate->alloc, nr_taken, entry->size_bytes, period);
	scale_heap_add(&estimate->inuse, nr_live, entry->size_bytes, period);
}

/* The same, with a label for how long blocks lived; labels has room for one more. */
static void add_lifetimes(struct build *build, const struct entry *entry,
			  struct profile_sample *sample, struct profile_label *labels,
			  uint64_t nr_live)
{
	static const char *const texts[LIFE_NR_AGES] = {"<100us", "<1ms", "<10ms", "<100ms",
							"<1s",	  "<10s", ">=10s"};
	struct profile_label *label = &labels[sample->nr_labels++];
	uint64_t nr_left = entry->nr_taken;

	for (int i = 0; i < LIFE_NR_AGES; i++) {
		uint64_t nr = builder_nr_by_age(build->builder, entry, i);

		if (!nr || nr > nr_left)
			continue;
		*label = string_label(build->profile, "lifetime", texts[i]);
		add_blocks(build, entry, sample, nr, 0);
		nr_left -= nr;
	}
	if (!nr_left)
		return;
	*label = string_label(build->profile, "lifetime", "alive");
	add_blocks(build, entry, sample, nr_left, nr_live);
}

static void add_heap_entry(struct build *build, struct entry *entry, struct profile_sample *sample,
			   struct profile_label *labels)
{
	uint64_t period = build->builder->options.period, nr_taken, nr_live;

	select_samples(entry, build->order->view, &nr_taken, &nr_live);
	if (build->order->lifetimes)
		add_lifetimes(build, entry, sample, labels, nr_live);
	else
		add_blocks(build, entry, sample, nr_taken, nr_live);
	scale_heap_add(&build->built.alloc, nr_taken, entry->size_bytes, period);
	scale_heap_add(&build->built.inuse, nr_live, entry->size_bytes, period);
	if (build->order->records)
		build_add_record(build, entry, nr_taken, nr_live);
}

/* The samples of an entry that a view is about are written, the others gone. Is there any to show? */
static bool count_samples(const struct entry *entry, enum heap_view view, uint64_t *nr_written,
			  uint64_t *nr_gone)
{
	uint64_t nr_taken, nr_live;

	select_samples(entry, view, &nr_taken, &nr_live);
	if (heap_view_is_moment(view))
		*nr_gone += entry->nr_taken - nr_live;
	*nr_written += heap_view_is_moment(view) ? nr_live : nr_taken;
	return nr_taken || nr_live;
}

static void add_entry(struct build *build, struct entry *entry)
{
	struct profile_label labels[5];
	int64_t values[2]; /* samples, nanoseconds */
	struct profile_sample sample = {.labels = labels};
	uint64_t nr = build->built.nr_written;

	if (!count_samples(entry, build->order->view, &build->built.nr_written,
			   &build->built.nr_gone))
		return;
	nr = build->built.nr_written - nr;
	build_set_stack(build, entry);
	sample.locations = build->locations.at;
	sample.nr_locations = build->locations.nr;
	sample.nr_labels = set_labels(build, entry, labels);
	if (build->builder->options.kind == PROFILE_HEAP) {
		add_heap_entry(build, entry, &sample, labels);
		return;
	}
	values[0] = to_value(nr);
	values[1] = multiply(nr, build->builder->options.period);
	sample.values = values;
	profile_add_sample(build->profile, &sample);
	if (build->order->records)
		build_add_record(build, entry, nr, 0);
}

/* Rounds what was added up. */
static void set_heap_values(struct build *build)
{
	bool inuse = heap_view_shows_inuse(build->order->view), variances = build->order->variances;
	bool leaks = build->order->view == VIEW_LEAKS;

	for (size_t i = 0; i < build->estimates.nr; i++) {
		const struct estimate *estimate = &build->estimates.at[i];
		int64_t *value = build->profile->samples.at[i].values;

		if (leaks) {
			*value++ = estimate->score;
		} else {
			*value++ = scale_round(estimate->alloc.objects);
			*value++ = scale_round(estimate->alloc.bytes);
		}
		if (inuse) {
			*value++ = scale_round(estimate->inuse.objects);
			*value++ = scale_round(estimate->inuse.bytes);
		}
		if (variances && !leaks)
			*value++ = scale_round(estimate->alloc.bytes_variance);
		if (variances && inuse)
			*value++ = scale_round(estimate->inuse.bytes_variance);
	}
}

static void add_maps(struct profile *profile, const struct tasks *tasks, const struct image *image)
{
	vec_for_each(&image->mappings.now, map) {
		const char *path = strtab_get(tasks_names(tasks), map->name);

		vec_push(&profile->maps,
			 (struct profile_map){
				 .start = map->start,
				 .limit = map->limit,
				 .file_off = map->file_off,
				 .path = arena_strndup(&profile->arena, path, strlen(path)),
			 });
	}
	/* The kernel's code is in every process. */
	vec_for_each(&profile->mappings, mapping)
		if (mapping->start >> 63)
			vec_push(&profile->maps,
				 (struct profile_map){
					 .start = mapping->start,
					 .limit = mapping->limit,
					 .path = strtab_get(&profile->strings, mapping->path),
				 });
}

/* The image whose binary is the main one: of process, or of the first that is no kernel thread. */
static struct image *main_image(struct builder *builder, const struct process *process)
{
	for (size_t i = 0; i < builder->processes.nr; i++) {
		const struct process *sampled = builder->processes.at[i].process;

		if (process ? sampled == process : !sampled->is_kernel_thread)
			return builder->groups.at[i].last_image;
	}
	if (process)
		return process->images.at[process->images.nr - 1];
	return builder->groups.nr ? builder->groups.at[0].last_image : NULL;
}

static void expect_names(struct build *build, struct entry *entry)
{
	const struct stack *user = &build->builder->stacks.at[entry->user_stack];

	for (uint32_t i = 0; i < user->nr; i++)
		symbolize_expect(build->symbolizer, entry->image, user->ips[i], entry->time_ns,
				 i > 0, entry->nr_taken);
}

static void for_each_entry(struct build *build, const struct process *process,
			   void (*fn)(struct build *build, struct entry *entry))
{
	struct builder *builder = build->builder;

	for (size_t i = 0; i < builder->groups.nr; i++) {
		const struct group *group = &builder->groups.at[i];

		if (process && builder->processes.at[i].process != process)
			continue;
		for (uint32_t j = 0; j < group->nr; j++)
			fn(build, &builder->entries.at[builder->order.at[group->first + j]]);
	}
}

void builder_sum(struct builder *builder, enum heap_view view, uint64_t *nr_written,
		 uint64_t *nr_gone)
{
	*nr_written = *nr_gone = 0;
	builder_resolve(builder);
	vec_for_each(&builder->order, i)
		count_samples(&builder->entries.at[*i], view, nr_written, nr_gone);
}

static void number_stack(struct build *build, struct entry *entry)
{
	struct profile_sample sample = {0};

	build_set_stack(build, entry);
	sample.locations = build->locations.at;
	sample.nr_locations = build->locations.nr;
	entry->shown_stack = profile_add_sample(build->profile, &sample);
}

void builder_number_stacks(struct builder *builder, struct symbolizer *symbolizer,
			   const struct build_order *order)
{
	struct profile *profile = profile_new();
	struct build build = {
		.builder = builder, .symbolizer = symbolizer, .order = order, .profile = profile};

	builder_resolve(builder);
	build_begin_stacks(&build);
	for_each_entry(&build, NULL, expect_names);
	for_each_entry(&build, NULL, number_stack);
	build_end_stacks(&build);
	profile_free(profile);
}

void builder_build(struct builder *builder, struct symbolizer *symbolizer,
		   const struct build_order *order, struct built *built)
{
	struct profile *profile = profile_new();
	struct build build = {.builder = builder,
			      .symbolizer = symbolizer,
			      .order = order,
			      .profile = profile,
			      .built.profile = profile};
	struct image *image;

	builder_resolve(builder);
	vec_for_each(&builder->leaks, leak) {
		leak->sample = -1;
		leak->inuse = (struct scale_sum){0};
	}
	if (order->view == VIEW_PEAK)
		build.built.peak = builder_peak_of(builder, order->process);
	set_types(&build);
	profile->time_ns = to_value(order->time_ns);
	profile->duration_ns = to_value(order->duration_ns);
	vec_push(&profile->comments, profile_string(profile, order->comment));

	image = main_image(builder, order->process ? order->process : order->main_process);
	if (image)
		symbolize_main_mapping(symbolizer, profile, image);
	build_begin_stacks(&build);
	for_each_entry(&build, order->process, expect_names);
	for_each_entry(&build, order->process, add_entry);
	set_heap_values(&build);
	if (image && order->records)
		add_maps(profile, builder->tasks, image);
	build_end_stacks(&build);
	symbolize_note_left_out(symbolizer, profile);
	if (!profile->mappings.nr) /* of no process, and without a sample */
		symbolize_kernel_mapping(profile);
	vec_release(&build.estimates);
	*built = build.built;
}
