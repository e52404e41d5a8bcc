// SPDX-License-Identifier: BSD-2-Clause
/*
 * While the run goes on only numbers are kept:
 *
 *	entries	 one for each record id: who, when, two stack ids, what was counted	about 100 bytes
 *	stacks	 each distinct list of ips once: (a thread's kernel part or user part)
 *
 * A record and its counts arrive in any order, so either makes the entry. Who a record belongs to
 * (process, image) is asked of process/task twice: when it arrives, so that a process nobody
 * announced is read from /proc while it lives, and again when results are asked for, since an exec
 * or a mapping may be announced after the samples that ran it.
 *
 * Heap: there is no label for the size, as Go's own profiles have one ("bytes"). BPF's records are
 * one for each (stack, size), because the scaling needs that; but a label would keep them apart in
 * the file too, tens of samples where one stack has tens of sizes, past what Pyroscope takes (16,000)
 * for a question that the average (space / objects) answers.
 */
#include "profile/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/scale.h"

#define STACK_EMPTY 0u

struct stack {
	const uint64_t *ips; /* in the arena */
	uint32_t nr;
};

struct entry {
	uint64_t id, start_ns, time_ns, size_bytes;
	uint64_t nr_taken, nr_freed;
	struct image *image; /* set by resolve() */
	uint32_t tgid, tid;
	uint32_t comm; /* strtab id */
	enum stack_end end;
	uint32_t kernel_stack, user_stack;
	bool has_record;
};

/* What resolve() finds out about one process. */
struct group {
	struct built_process built;
	uint32_t first, nr; /* in builder->order */
	struct image *last_image;
	uint64_t last_ns;
};

struct builder {
	struct builder_options options;
	struct tasks *tasks;
	vec_of(struct entry) entries;
	struct hash entry_index;
	vec_of(struct stack) stacks; /* at[STACK_EMPTY] has no ips */
	struct hash stack_index;
	struct arena arena;
	struct strtab strings;
	uint64_t nr_taken;
	struct strtab end_names;
	vec_of(struct built_end) ends; /* by the ids of end_names; 0: whole */

	bool is_resolved;			/* nothing came since resolve() */
	vec_of(uint32_t) order;			/* entries with samples, process by process */
	vec_of(struct group) groups;		/* most samples first */
	vec_of(struct built_process) processes; /* the public part of groups */
};

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
	arena_release(&builder->arena);
	strtab_release(&builder->strings);
	strtab_release(&builder->end_names);
	vec_release(&builder->ends);
	vec_release(&builder->processes);
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
	entry->time_ns = record->time_ns;
	entry->size_bytes = record->size_bytes;
	entry->comm = strtab_intern_len(&builder->strings, record->comm, COMM_BYTES);
	entry->end = record->end;
	entry->kernel_stack = stack_id(builder, record->kernel_ips, record->nr_kernel);
	entry->user_stack = stack_id(builder, record->user_ips, record->nr_user);
	builder->is_resolved = false;

	image = tasks_image(builder->tasks, record->tgid, record->start_ns, record->time_ns);
	image->process->is_sampled = true;
}

void builder_count(struct builder *builder, const struct count *count)
{
	struct entry *entry = entry_of(builder, count->id);

	entry->nr_taken += count->nr_taken;
	entry->nr_freed += count->nr_freed;
	builder->nr_taken += count->nr_taken;
	builder->is_resolved = false;
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

/* Grouping by process ---------------------------------------------------------------------------- */

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Process by process, within one in the order of arrival. */
static int compare_entries(const void *a, const void *b, void *ctx)
{
	const struct builder *builder = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct process *p = builder->entries.at[i].image->process;
	const struct process *q = builder->entries.at[j].image->process;

	if (p == q)
		return compare(i, j);
	if (p->tgid != q->tgid)
		return compare(p->tgid, q->tgid);
	if (p->start_ns != q->start_ns)
		return compare(p->start_ns, q->start_ns);
	return compare((uintptr_t)p, (uintptr_t)q);
}

static int compare_groups(const void *a, const void *b)
{
	const struct group *p = a, *q = b;

	if (p->built.nr_taken != q->built.nr_taken)
		return compare(q->built.nr_taken, p->built.nr_taken);
	return compare(p->first, q->first);
}

/* Fills builder->order: the entries that have anything to show, grouped. */
static void order_entries(struct builder *builder)
{
	builder->order.nr = 0;
	for (size_t i = 0; i < builder->entries.nr; i++) {
		struct entry *entry = &builder->entries.at[i];

		if (!entry->nr_taken || drop_reason_of(builder, entry) != NR_DROP_REASONS)
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

/* Says of every entry whose it is, unless that is known. */
static void resolve(struct builder *builder)
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
	resolve(builder);
	*nr = builder->processes.nr;
	return builder->processes.at;
}

/* Building --------------------------------------------------------------------------------------- */

/* What the steps of one builder_build() share. */
struct build {
	struct builder *builder;
	struct symbolizer *symbolizer;
	struct profile *profile;
	vec_of(uint32_t) locations; /* of the sample being made */
	uint64_t nr_written;
};

static void set_types(struct profile *profile, const struct builder_options *options)
{
	int64_t period = options->period > INT64_MAX ? INT64_MAX : options->period;

	/* A period of 0 makes totals of 0 in Parca. */
	if (!period)
		period = 1;
	if (options->kind == PROFILE_CPU) {
		profile_add_type(profile, "samples", "count");
		profile_add_type(profile, "cpu", "nanoseconds");
		profile_set_period(profile, "cpu", "nanoseconds", period);
		profile->default_type = profile_string(profile, "cpu");
	} else {
		profile_add_type(profile, "alloc_objects", "count");
		profile_add_type(profile, "alloc_space", "bytes");
		profile_add_type(profile, "inuse_objects", "count");
		profile_add_type(profile, "inuse_space", "bytes");
		profile_set_period(profile, "space", "bytes", period);
		profile->default_type = profile_string(profile, "inuse_space");
	}
}

static int64_t to_value(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : value;
}

static int64_t multiply(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : to_value(product);
}

/* An exec takes the whole heap of the image before it away. */
static uint64_t nr_still_live(const struct entry *entry)
{
	const struct process *process = entry->image->process;

	if (entry->image != process->images.at[process->images.nr - 1] ||
	    entry->nr_freed >= entry->nr_taken)
		return 0;
	return entry->nr_taken - entry->nr_freed;
}

static void set_values(const struct builder *builder, const struct entry *entry, int64_t *values)
{
	const struct builder_options *options = &builder->options;
	uint64_t nr_live = nr_still_live(entry);

	if (options->kind == PROFILE_CPU) {
		values[0] = to_value(entry->nr_taken);
		values[1] = multiply(entry->nr_taken, options->period);
		return;
	}
	scale_heap_sample(to_value(entry->nr_taken), multiply(entry->nr_taken, entry->size_bytes),
			  to_value(options->period), &values[0], &values[1]);
	scale_heap_sample(to_value(nr_live), multiply(nr_live, entry->size_bytes),
			  to_value(options->period), &values[2], &values[3]);
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
			   struct profile_label labels[4])
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

/*
 * Some outermost functions have no unwind information to say that they are: those of other C
 * libraries, and Go's.
 */
static bool is_outermost(const char *name)
{
	static const char *const names[] = {"_start",	      "__clone",	"clone",
					    "clone3",	      "__clone3",	"_dlstart",
					    "runtime.goexit", "runtime.mstart", "runtime.rt0_go"};
	size_t len;

	/* "runtime.goexit.abi0", but not "clone.cold" */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		len = strlen(names[i]);
		if (!strncmp(name, names[i], len) &&
		    (!name[len] || !strncmp(name + len, ".abi", 4)))
			return true;
	}
	return false;
}

static const char *function_name(const struct profile *profile, uint32_t location)
{
	const struct profile_line *line = profile->locations.at[location - 1].lines;

	return strtab_get(&profile->strings, profile->functions.at[line->function - 1].system_name);
}

/* Why the user stack that was just written is not whole: "no unwind info for libfoo.so"; or NULL. */
static char *describe_end(struct build *build, const struct entry *entry, const struct stack *user)
{
	static const struct {
		const char *text;
		bool names_file;
	} ends[] = {
#define X(id, text, names_file) {text, names_file},
		STACK_ENDS(X)
#undef X
	};
	const char *text = ends[entry->end].text, *file;

	if (!text)
		return NULL;
	if (entry->end == END_NO_ROOT && user->nr &&
	    is_outermost(
		    function_name(build->profile, build->locations.at[build->locations.nr - 1])))
		return NULL;
	if (!ends[entry->end].names_file || !user->nr)
		return xstrdup(text);
	file = symbolize_mapping_name(build->symbolizer, entry->image,
				      (user->ips[user->nr - 1] & ~IP_GUESSED) - (user->nr > 1),
				      entry->time_ns);
	return xasprintf("%s %s", text, file);
}

/* Adds to the table of builder_ends(). why NULL: the stack is whole. */
static void count_end(struct builder *builder, const char *why, uint64_t nr)
{
	uint32_t id = strtab_intern(&builder->end_names, why ? why : "");

	while (builder->ends.nr <= id)
		vec_push(&builder->ends, (struct built_end){0});
	builder->ends.at[id].nr += nr;
}

static int compare_ends(const void *a, const void *b)
{
	const struct built_end *x = a, *y = b;

	return compare(y->nr, x->nr);
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

/* A kernel stack, then the user stack under it, then why that one ends early. Leaf first. */
static void set_locations(struct build *build, const struct entry *entry)
{
	const struct builder *builder = build->builder;
	const struct stack *kernel = &builder->stacks.at[entry->kernel_stack];
	const struct stack *user = &builder->stacks.at[entry->user_stack];
	char *note scoped(freep) = NULL, *why scoped(freep) = NULL;

	build->locations.nr = 0;
	for (uint32_t i = 0; i < kernel->nr; i++)
		vec_push(&build->locations, symbolize_kernel(build->symbolizer, build->profile,
							     kernel->ips[i], i > 0));
	/* user->ips[0] is exact under kernel frames too: where the thread was interrupted, or the
	 * instruction after its syscall, which is no call to step back into. */
	for (uint32_t i = 0; i < user->nr; i++)
		vec_push(&build->locations,
			 symbolize_user(build->symbolizer, build->profile, entry->image,
					user->ips[i], entry->time_ns, i > 0));
	why = describe_end(build, entry, user);
	if (entry->end != END_NO_USER)
		count_end(build->builder, why, entry->nr_taken);
	if (why)
		note = xasprintf("[truncated: %s]", why);
	else if (!build->locations.nr)
		note = xstrdup("[no stack]");
	if (note)
		vec_push(&build->locations,
			 symbolize_note(build->symbolizer, build->profile, note));
}

static void add_entry(struct build *build, const struct entry *entry)
{
	struct profile_label labels[4];
	struct profile_sample sample = {.labels = labels};

	set_locations(build, entry);
	sample.locations = build->locations.at;
	sample.nr_locations = build->locations.nr;
	sample.nr_labels = set_labels(build, entry, labels);
	set_values(build->builder, entry, sample.values);
	profile_add_sample(build->profile, &sample);
	build->nr_written += entry->nr_taken;
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

static void add_entries(struct build *build, const struct process *process)
{
	struct builder *builder = build->builder;

	for (size_t i = 0; i < builder->groups.nr; i++) {
		const struct group *group = &builder->groups.at[i];

		if (process && builder->processes.at[i].process != process)
			continue;
		for (uint32_t j = 0; j < group->nr; j++)
			add_entry(build, &builder->entries.at[builder->order.at[group->first + j]]);
	}
}

void builder_build(struct builder *builder, struct symbolizer *symbolizer,
		   const struct process *process, const struct process *main_process,
		   uint64_t duration_ns, const char *comment, struct built *built)
{
	struct profile *profile = profile_new();
	struct build build = {.builder = builder, .symbolizer = symbolizer, .profile = profile};
	struct image *image;

	resolve(builder);
	set_types(profile, &builder->options);
	profile->time_ns = to_value(builder->options.realtime_ns);
	profile->duration_ns = to_value(duration_ns);
	vec_push(&profile->comments, profile_string(profile, comment));

	image = main_image(builder, process ? process : main_process);
	if (image)
		symbolize_main_mapping(symbolizer, profile, image);
	add_entries(&build, process);
	vec_release(&build.locations);
	*built = (struct built){.profile = profile, .nr_written = build.nr_written};
}
