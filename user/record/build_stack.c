// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes the stack of one sample. A heap profile leaves out the allocator's own frames: readers ask who calls malloc. Go's
 * runtime leaves its own allocator out of the file as well; drop_frames (prune.h) says the same, but of the
 * readers only pprof heeds it, and Pyroscope, Parca and speedscope show malloc at the leaf of everything.
 * The rule is that of drop_frames: from the outermost frame of an allocator's the stack goes, towards the
 * leaf. What it does not say: of a stack of nothing else the outermost frame stays.
 */
#include "record/build.h"

#include <stdlib.h>
#include <string.h>

#include "profile/allocframes.h"

/* What is known of a name. */
enum {
	IS_UNKNOWN,
	IS_DROPPED,
	IS_OTHER
};

void build_begin_stacks(struct build *build)
{
	if (build->builder->options.kind == PROFILE_HEAP && !build->order->all_frames)
		build->allocators.rule = prune_rule_new(allocator_frames, NULL);
	while (build->cuts.nr < build->builder->stacks.nr)
		vec_push(&build->cuts, (struct cut){0});
	build_begin_frames(build);
}

void build_end_stacks(struct build *build)
{
	build_end_frames(build);
	build_rule_release(&build->allocators);
	vec_release(&build->locations);
	vec_release(&build->call_ips);
	vec_release(&build->cuts);
	hash_release(&build->record_index);
}

bool build_rule_drops(struct build_rule *rule, uint32_t name, const char *text)
{
	while (rule->answers.nr <= name)
		vec_push(&rule->answers, IS_UNKNOWN);
	if (rule->answers.at[name] == IS_UNKNOWN)
		rule->answers.at[name] = prune_rule_drops(rule->rule, text) ? IS_DROPPED : IS_OTHER;
	return rule->answers.at[name] == IS_DROPPED;
}

void build_rule_release(struct build_rule *rule)
{
	prune_rule_free(rule->rule);
	vec_release(&rule->answers);
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
	const char *text = ends[entry->end].text, *file, *closed;
	uint64_t ip;

	if (!text)
		return NULL;
	if (entry->end == END_NO_ROOT && user->nr &&
	    is_outermost(
		    function_name(build->profile, build->locations.at[build->locations.nr - 1])))
		return NULL;
	if (!ends[entry->end].names_file || !user->nr)
		return xstrdup(text);
	ip = ip_named(user->ips[user->nr - 1], user->nr > 1);
	file = symbolize_mapping_name(build->symbolizer, entry->image, ip, entry->time_ns);
	closed = symbolize_why_closed(build->symbolizer, entry->image, ip, entry->time_ns);
	if (*closed)
		return xasprintf("cannot open %s (%s)", file, closed);
	return xasprintf("%s %s", text, file);
}

bool build_is_elided(const struct stack *user, uint32_t i)
{
	return user->ips[i] == IP_ELIDED && i == STACK_LEAF_FRAMES && user->nr == STACK_MAX_FRAMES;
}

/* The first is where it was interrupted, the others are callers. */
void build_add_user(struct build *build, const struct entry *entry, const struct stack *user,
		    uint32_t i)
{
	bool is_elided = build_is_elided(user, i);

	vec_push(&build->locations,
		 is_elided
			 ? symbolize_note(build->symbolizer, build->profile, "[... frames elided]")
			 : symbolize_user(build->symbolizer, build->profile, entry->image,
					  user->ips[i], entry->time_ns, i > 0));
	vec_push(&build->call_ips,
		 is_elided || IP_IS_METHOD(user->ips[i]) ? 0 : ip_named(user->ips[i], i > 0) + 1);
}

/* The allocator's frames ------------------------------------------------------------------------- */

static bool is_allocator(struct build *build, const struct entry *entry, const struct stack *user,
			 uint32_t i)
{
	const char *text;
	uint32_t name;

	if (build_is_elided(user, i))
		return false;
	name = symbolize_user_name(build->symbolizer, entry->image, user->ips[i], entry->time_ns,
				   i > 0, &text);
	return build_rule_drops(&build->allocators, name, text);
}

static uint32_t nr_allocators(struct build *build, const struct entry *entry,
			      const struct stack *user)
{
	bool found_other = false;

	for (uint32_t i = user->nr; i-- > 0;) {
		bool is_other = !is_allocator(build, entry, user, i);

		if (!is_other && found_other)
			return i + 1;
		found_other |= is_other;
	}
	return found_other || !user->nr ? 0 : user->nr - 1;
}

/* Once for each stack, as a rule: there are several entries of one, a size each. */
static uint32_t nr_cut(struct build *build, const struct entry *entry, const struct stack *user)
{
	struct cut *cut = &build->cuts.at[entry->user_stack];

	if (!build->allocators.rule)
		return 0;
	if (cut->image != entry->image)
		*cut = (struct cut){entry->image, nr_allocators(build, entry, user)};
	return cut->nr;
}

/* Stacks ----------------------------------------------------------------------------------------- */

void build_set_stack(struct build *build, struct entry *entry)
{
	const struct builder *builder = build->builder;
	const struct stack *kernel = &builder->stacks.at[entry->kernel_stack];
	const struct stack *user = &builder->stacks.at[entry->user_stack];
	char *note scoped(freep) = NULL, *why scoped(freep) = NULL;

	build->locations.nr = build->call_ips.nr = 0;
	build->nr_cut = nr_cut(build, entry, user);
	for (uint32_t i = 0; i < kernel->nr && !(entry->shadow && build->order->no_native); i++) {
		vec_push(&build->locations,
			 symbolize_kernel(build->symbolizer, build->profile, kernel->ips[i],
					  entry->time_ns, i > 0));
		vec_push(&build->call_ips, kernel->ips[i] + !i);
	}
	/* user->ips[0] is exact under kernel frames too: where the thread was interrupted, or the
	 * instruction after its syscall, which is no call to step back into. */
	if (entry->shadow)
		build_add_joined(build, entry, user);
	for (uint32_t i = build->nr_cut; i < user->nr && !entry->shadow; i++)
		build_add_user(build, entry, user, i);
	why = describe_end(build, entry, user);
	if (entry->end != END_NO_USER)
		builder_count_end(build->builder, why, entry->nr_taken - entry->nr_ended);
	entry->nr_ended = entry->nr_taken;
	if (why)
		note = xasprintf("[truncated: %s]", why);
	else if (!build->locations.nr)
		note = xstrdup("[no stack]");
	if (note)
		vec_push(&build->locations,
			 symbolize_note(build->symbolizer, build->profile, note));
}

/* Records ---------------------------------------------------------------------------------------- */

static bool same_record(const void *ctx, uint32_t value, const void *key)
{
	const struct profile *profile = ctx;
	const struct profile_record *a = &profile->records.at[value], *b = key;

	return a->size_bytes == b->size_bytes && a->nr_ips == b->nr_ips &&
	       a->nr_locations == b->nr_locations &&
	       !memcmp(a->call_ips, b->call_ips, a->nr_ips * sizeof(*a->call_ips)) &&
	       !memcmp(a->locations, b->locations, a->nr_locations * sizeof(*a->locations));
}

/* The record of the stack in build->locations, made if need be. */
static struct profile_record *record_of(struct build *build, const struct profile_record *wanted)
{
	struct profile *profile = build->profile;
	struct arena *arena = &profile->arena;
	size_t ips_bytes = wanted->nr_ips * sizeof(*wanted->call_ips);
	size_t locations_bytes = wanted->nr_locations * sizeof(*wanted->locations);
	uint64_t of_ips = hash_bytes(wanted->call_ips, ips_bytes, wanted->size_bytes);
	uint64_t code = hash_bytes(wanted->locations, locations_bytes, of_ips);
	uint32_t i = hash_find(&build->record_index, code, same_record, profile, wanted);
	struct profile_record record = *wanted;

	if (i != HASH_NONE)
		return &profile->records.at[i];
	record.call_ips = memcpy(arena_alloc(arena, ips_bytes), wanted->call_ips, ips_bytes);
	record.locations =
		memcpy(arena_alloc(arena, locations_bytes), wanted->locations, locations_bytes);
	i = profile->records.nr;
	vec_push(&profile->records, record);
	hash_insert(&build->record_index, code, i);
	return &profile->records.at[i];
}

void build_add_record(struct build *build, const struct entry *entry, uint64_t nr_taken,
		      uint64_t nr_live)
{
	struct profile_record wanted = {.call_ips = build->call_ips.at,
					.locations = build->locations.at,
					.nr_ips = build->call_ips.nr,
					.nr_locations = build->locations.nr,
					.size_bytes = entry->size_bytes};
	struct profile_record *record;

	record = record_of(build, &wanted);
	record->nr_taken += nr_taken;
	record->nr_live += nr_live;
}
