// SPDX-License-Identifier: BSD-2-Clause
/*
 * A source's items are looked at when a sample that is kept first needs them, and never twice: a
 * table for each kind says where the item with this id of the source is in the result.
 *
 *	source sample -> locations -> mapping	  strings[], mappings[], functions[], locations[]:
 *			   |	   -> lines -> function		source's id -> result's id, 0: not yet
 *			   -> labels -> strings
 *
 * So what no kept sample needs is left out, each string is hashed once for each source, and the ids of
 * the result are those that pprof gives. Functions, locations and samples of the result are interned
 * by the model, whose keys are pprof's once ids are the result's own: a location's address is moved
 * with its mapping, so that equal (mapping, address) is equal (mapping, address - start). Only
 * mappings are known by something else than all their fields.
 *
 * Labels have no order: a sample's are sorted by the id of their key, those of one key staying in
 * their order. Most come sorted, for keys get their ids in the order in which they come.
 *
 * Of pprof's Merge are not copied: that of a location with inlined lines only the last one's column
 * is looked at (locationKey writes each column where the next line's function goes), that sums
 * wrap around, and that a mapping has the flags that the first source gives it.
 */
#include "profile/merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "profile/algebra.h"
#include "profile/align.h"
#include "profile/comments.h"
#include "profile/mismatch.h"

#define PAGE_BYTES 0x1000u /* to which sizes of mappings are rounded, as pprof does */

struct merger {
	struct profile *merged;
	bool has_source;
	struct hash mapping_index, comment_index;
	vec_of(struct profile_line) lines;   /* of the location that is being mapped */
	vec_of(uint32_t) locations;	     /* of the sample that is being mapped */
	vec_of(struct profile_label) labels; /* of the same */
	char why[1024];
};

struct source {
	const struct profile *profile;
	struct merger *merger;
	uint32_t *strings, *mappings, *functions,
		*locations; /* id of the source to id, 0: not yet */
};

struct merger *merger_new(void)
{
	struct merger *merger = xcalloc(1, sizeof(*merger));

	merger->merged = profile_new();
	return merger;
}

void merger_free(struct merger *merger)
{
	if (!merger)
		return;
	profile_free(merger->merged);
	hash_release(&merger->mapping_index);
	hash_release(&merger->comment_index);
	vec_release(&merger->lines);
	vec_release(&merger->locations);
	vec_release(&merger->labels);
	free(merger);
}

static uint32_t map_string(struct source *source, uint32_t id)
{
	if (id && !source->strings[id])
		source->strings[id] = strtab_intern(&source->merger->merged->strings,
						    strtab_get(&source->profile->strings, id));
	return source->strings[id];
}

/* What mappings are known by. */
static uint64_t mapping_size(const struct profile_mapping *mapping)
{
	return (mapping->limit - mapping->start + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

static uint32_t mapping_name(const struct profile_mapping *mapping)
{
	return mapping->build_id ? mapping->build_id : mapping->path;
}

static bool same_mapping(const void *ctx, uint32_t value, const void *key)
{
	const struct profile *merged = ctx;
	const struct profile_mapping *a = &merged->mappings.at[value - 1], *b = key;

	return mapping_size(a) == mapping_size(b) && a->file_off == b->file_off &&
	       mapping_name(a) == mapping_name(b);
}

static uint32_t map_mapping(struct source *source, uint32_t id)
{
	struct merger *merger = source->merger;
	struct profile_mapping mapping;
	uint64_t code;
	uint32_t found;

	if (!id || source->mappings[id])
		return source->mappings[id];
	mapping = source->profile->mappings.at[id - 1];
	mapping.path = map_string(source, mapping.path);
	mapping.build_id = map_string(source, mapping.build_id);
	code = hash_combine(hash_combine(mapping_size(&mapping), mapping.file_off),
			    mapping_name(&mapping));
	found = hash_find(&merger->mapping_index, code, same_mapping, merger->merged, &mapping);
	if (found == HASH_NONE) {
		found = profile_mapping_id(merger->merged, &mapping);
		hash_insert(&merger->mapping_index, code, found);
	}
	return source->mappings[id] = found;
}

static uint32_t map_function(struct source *source, uint32_t id)
{
	struct profile_function function;

	if (!id || source->functions[id])
		return source->functions[id];
	function = source->profile->functions.at[id - 1];
	function.name = map_string(source, function.name);
	function.system_name = map_string(source, function.system_name);
	function.path = map_string(source, function.path);
	return source->functions[id] = profile_function_id(source->merger->merged, &function);
}

/* They speak of all of a mapping's locations: what one source lacks, the result lacks. */
static void keep_common_flags(struct profile_mapping *mapping, const struct profile_mapping *of)
{
	mapping->has_functions &= of->has_functions;
	mapping->has_filenames &= of->has_filenames;
	mapping->has_line_numbers &= of->has_line_numbers;
	mapping->has_inline_frames &= of->has_inline_frames;
}

static uint32_t map_location(struct source *source, uint32_t id)
{
	struct merger *merger = source->merger;
	struct profile_location location;
	struct profile_mapping *mapping;
	const struct profile_mapping *of;
	uint32_t from_mapping;

	if (!id || source->locations[id])
		return source->locations[id];
	location = source->profile->locations.at[id - 1];
	from_mapping = location.mapping;
	location.mapping = map_mapping(source, from_mapping);
	if (from_mapping) {
		mapping = &merger->merged->mappings.at[location.mapping - 1];
		of = &source->profile->mappings.at[from_mapping - 1];
		keep_common_flags(mapping, of);
		location.address += mapping->start - of->start;
	}
	merger->lines.nr = 0;
	for (uint32_t i = 0; i < location.nr_lines; i++) {
		struct profile_line line = location.lines[i];

		line.function = map_function(source, line.function);
		vec_push(&merger->lines, line);
	}
	location.lines = merger->lines.at;
	return source->locations[id] = profile_location_id(merger->merged, &location);
}

/*
 * By the texts of their keys: ids depend on who came first, and then a merged profile that is merged
 * again would have another order. String labels of a key come before its numbers.
 */
static int compare_labels(const struct strtab *strings, const struct profile_label *a,
			  const struct profile_label *b)
{
	if (a->key != b->key)
		return strcmp(strtab_get(strings, a->key), strtab_get(strings, b->key));
	return !a->str - !b->str;
}

struct placed_label {
	struct profile_label label;
	uint32_t place;
};

static int compare_placed(const void *a_void, const void *b_void, void *strings)
{
	const struct placed_label *a = a_void, *b = b_void;
	int order = compare_labels(strings, &a->label, &b->label);

	return order ? order : a->place < b->place ? -1 : 1;
}

static void sort_labels(struct strtab *strings, struct profile_label *labels, uint32_t nr)
{
	struct placed_label *placed scoped(freep) = xcalloc(nr, sizeof(*placed));

	for (uint32_t i = 0; i < nr; i++)
		placed[i] = (struct placed_label){labels[i], i};
	qsort_r(placed, nr, sizeof(*placed), compare_placed, strings);
	for (uint32_t i = 0; i < nr; i++)
		labels[i] = placed[i].label;
}

static void map_labels(struct source *source, const struct profile_sample *sample)
{
	struct merger *merger = source->merger;
	struct strtab *strings = &merger->merged->strings;
	bool is_sorted = true;

	merger->labels.nr = 0;
	for (uint32_t i = 0; i < sample->nr_labels; i++) {
		struct profile_label label = sample->labels[i];

		label.key = map_string(source, label.key);
		label.str = map_string(source, label.str);
		label.num_unit = map_string(source, label.num_unit);
		vec_push(&merger->labels, label);
		if (i && compare_labels(strings, &merger->labels.at[i - 1], &label) > 0)
			is_sorted = false;
	}
	if (!is_sorted)
		sort_labels(strings, merger->labels.at, merger->labels.nr);
}

static void add_sample(struct source *source, const struct profile_sample *from, double factor)
{
	struct merger *merger = source->merger;
	int64_t values[PROFILE_MAX_TYPES];
	struct profile_sample sample = {.values = values};
	bool is_zero = true;

	for (uint32_t i = 0; i < merger->merged->nr_types; i++) {
		values[i] = profile_scaled(from->values[i], factor);
		is_zero &= !values[i];
	}
	if (is_zero)
		return;
	merger->locations.nr = 0;
	vec_reserve(&merger->locations, from->nr_locations);
	for (uint32_t i = 0; i < from->nr_locations; i++)
		merger->locations.at[i] = map_location(source, from->locations[i]);
	map_labels(source, from);
	sample.locations = merger->locations.at;
	sample.nr_locations = from->nr_locations;
	sample.labels = merger->labels.at;
	sample.nr_labels = merger->labels.nr;
	profile_add_sample(merger->merged, &sample);
}

static struct value_type map_type(struct source *source, const struct value_type *type)
{
	return (struct value_type){map_string(source, type->type), map_string(source, type->unit)};
}

/* What only the first source decides. */
static void begin(struct source *source)
{
	const struct profile *from = source->profile;
	struct profile *merged = source->merger->merged;

	for (uint32_t i = 0; i < from->nr_types; i++)
		merged->types[i] = map_type(source, &from->types[i]);
	merged->nr_types = from->nr_types;
	merged->period_type = map_type(source, &from->period_type);
	merged->drop_frames = map_string(source, from->drop_frames);
	merged->keep_frames = map_string(source, from->keep_frames);
	source->merger->has_source = true;
}

static bool same_comment(const void *ctx, uint32_t value, const void *key)
{
	(void)ctx;
	return value == *(const uint32_t *)key;
}

static void add_comment(struct merger *merger, uint32_t comment)
{
	uint64_t code = hash_u64(comment);

	const char *text = strtab_get(&merger->merged->strings, comment);

	if (hash_find(&merger->comment_index, code, same_comment, NULL, &comment) == HASH_NONE)
		hash_insert(&merger->comment_index, code, comment);
	else if (!profile_comment_is_folded(text))
		return;
	vec_push(&merger->merged->comments, comment);
}

static void add_header(struct source *source)
{
	const struct profile *from = source->profile;
	struct profile *merged = source->merger->merged;

	if (from->time_ns && (!merged->time_ns || from->time_ns < merged->time_ns))
		merged->time_ns = from->time_ns;
	merged->duration_ns = profile_sum(merged->duration_ns, from->duration_ns);
	if (!merged->period || merged->period < from->period)
		merged->period = from->period;
	if (!merged->default_type)
		merged->default_type = map_string(source, from->default_type);
	if (!merged->doc_url)
		merged->doc_url = map_string(source, from->doc_url);
	for (size_t i = 0; i < from->comments.nr; i++)
		add_comment(source->merger, map_string(source, from->comments.at[i]));
}

int merger_add_scaled(struct merger *merger, const struct profile *from, double factor,
		      const char **why)
{
	const char *reason =
		merger->has_source
			? mismatch_describe(merger->merged, from, merger->why, sizeof(merger->why))
			: NULL;
	uint32_t *strings scoped(freep) = NULL, *mappings scoped(freep) = NULL;
	uint32_t *functions scoped(freep) = NULL, *locations scoped(freep) = NULL;
	struct source source = {.profile = from, .merger = merger};

	if (reason) {
		if (why)
			*why = reason;
		return -EINVAL;
	}
	source.strings = strings = xcalloc(strtab_nr(&from->strings), sizeof(*strings));
	source.mappings = mappings = xcalloc(from->mappings.nr + 1, sizeof(*mappings));
	source.functions = functions = xcalloc(from->functions.nr + 1, sizeof(*functions));
	source.locations = locations = xcalloc(from->locations.nr + 1, sizeof(*locations));
	if (!merger->has_source)
		begin(&source);
	add_header(&source);
	if (!merger->merged->mappings.nr && from->mappings.nr)
		map_mapping(&source, 1); /* readers take the first one for the main binary */
	for (size_t i = 0; i < from->samples.nr; i++)
		add_sample(&source, &from->samples.at[i], factor);
	return 0;
}

int merger_add(struct merger *merger, const struct profile *source, const char **why)
{
	return merger_add_scaled(merger, source, 1, why);
}

/* Items that only samples with sums of 0 needed must be dropped too, so the result is merged again. */
static struct profile *without_zeros(struct profile *merged)
{
	vec_for_each(&merged->samples, sample) {
		struct profile *compact;

		if (!profile_is_zero(merged, sample))
			continue;
		compact = profile_compact(merged);
		profile_free(merged);
		return compact;
	}
	return merged;
}

int merger_add_aligned(struct merger *merger, struct profile *source, const char **why)
{
	if (merger->has_source && profile_align(merger->merged, source)) {
		if (why)
			*why = mismatch_describe(merger->merged, source, merger->why,
						 sizeof(merger->why));
		return -EINVAL;
	}
	return merger_add(merger, source, why);
}

struct profile *merger_finish(struct merger *merger)
{
	struct profile *merged = merger->merged;

	merger->merged = NULL;
	merger_free(merger);
	return without_zeros(merged);
}

struct profile *profile_compact(const struct profile *source)
{
	struct merger *merger = merger_new();

	if (merger_add(merger, source, NULL))
		abort(); /* an empty merger takes anything */
	return merger_finish(merger);
}
