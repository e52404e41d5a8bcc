// SPDX-License-Identifier: BSD-2-Clause
/*
 * The document is prepared first and then written from front to back, since its tables refer to
 * each other by position: frames by line and functions by name and file are two granularities of
 * profile/frames.h over the same locations, in the same order, so that one array leads from a
 * frame to its function. Samples are put in the order of their threads by a counting sort.
 *
 * The tables that threads share are in gecko_tables.c.
 */
#include "output/gecko.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/hash.h"
#include "base/text.h"
#include "output/gecko_state.h"

#define GECKO_VERSION	  24 /* of the raw format that this would have come from */
#define PROCESSED_VERSION 62
#define NSEC_PER_MSEC	  1e6

/* Preparing -------------------------------------------------------------------------------------- */

static const char *string_of(const struct profile *profile, uint32_t id)
{
	return strtab_get(&profile->strings, id);
}

static struct gecko_thread thread_of(const struct profile *profile,
				     const struct profile_sample *sample)
{
	struct gecko_thread thread = {.process_name = "", .thread_name = ""};

	for (uint32_t i = 0; i < sample->nr_labels; i++) {
		const struct profile_label *label = &sample->labels[i];
		const char *key = string_of(profile, label->key);
		const char *text = string_of(profile, label->str);
		int64_t number = *text ? strtoll(text, NULL, 10) : label->num;

		if (!strcmp(key, "pid"))
			thread.pid = number;
		else if (!strcmp(key, "tid"))
			thread.tid = number;
		else if (!strcmp(key, "comm"))
			thread.process_name = text;
		else if (!strcmp(key, "thread"))
			thread.thread_name = text;
	}
	return thread;
}

static bool same_thread(const void *ctx, uint32_t value, const void *key)
{
	const struct gecko *gecko = ctx;
	const struct gecko_thread *a = &gecko->threads.at[value], *b = key;

	return a->pid == b->pid && a->tid == b->tid;
}

static uint32_t find_thread(struct gecko *gecko, struct hash *index,
			    const struct profile_sample *sample)
{
	struct gecko_thread thread = thread_of(gecko->profile, sample);
	uint64_t code = hash_combine(hash_u64(thread.pid), thread.tid);
	uint32_t found = hash_find(index, code, same_thread, gecko, &thread);

	if (found == HASH_NONE) {
		found = gecko->threads.nr;
		hash_insert(index, code, found);
		vec_push(&gecko->threads, thread);
	}
	gecko->threads.at[found].nr++;
	return found;
}

/* Sorts the samples by thread, by counting. */
static void find_threads(struct gecko *gecko)
{
	const struct profile *profile = gecko->profile;
	uint32_t *found scoped(freep) = xcalloc(profile->samples.nr, sizeof(*found));
	struct hash index = {0};
	size_t first = 0;

	gecko->order = xcalloc(profile->samples.nr, sizeof(*gecko->order));
	for (size_t i = 0; i < profile->samples.nr; i++)
		if (profile->samples.at[i].values[gecko->type])
			found[i] = find_thread(gecko, &index, &profile->samples.at[i]);
	hash_release(&index);
	vec_for_each(&gecko->threads, thread) {
		thread->first = first;
		first += thread->nr;
		thread->nr = 0;
	}
	for (size_t i = 0; i < profile->samples.nr; i++) {
		struct gecko_thread *thread;

		if (!profile->samples.at[i].values[gecko->type])
			continue;
		thread = &gecko->threads.at[found[i]];
		gecko->order[thread->first + thread->nr++] = i;
	}
}

/* A lib for each path. */
static void find_libs(struct gecko *gecko)
{
	for (size_t i = 0; i < gecko->profile->mappings.nr; i++) {
		uint32_t path = gecko->profile->mappings.at[i].path;
		uint32_t id = strtab_intern(&gecko->libs, string_of(gecko->profile, path));

		if (id > gecko->lib_mapping.nr)
			vec_push(&gecko->lib_mapping, i);
	}
}

static int gecko_open(struct gecko *gecko, const struct profile *profile, uint32_t type)
{
	int err;

	*gecko = (struct gecko){.profile = profile, .type = type};
	frames_make(profile, FRAME_BY_LINE, &gecko->frames);
	frames_make(profile, FRAME_BY_FUNCTION_FILE, &gecko->funcs);
	gecko->func_of = xcalloc(gecko->frames.nr, sizeof(*gecko->func_of));
	/* Both have an id for each line of each location, in the same order. */
	for (size_t i = 0; i < gecko->frames.ids.nr; i++)
		gecko->func_of[gecko->frames.ids.at[i]] = gecko->funcs.ids.at[i];
	err = stacktree_make(profile, type, &gecko->frames, &gecko->tree);
	if (err)
		return err;
	find_libs(gecko);
	find_threads(gecko);
	return 0;
}

static void gecko_release(struct gecko *gecko)
{
	frames_release(&gecko->frames);
	frames_release(&gecko->funcs);
	stacktree_release(&gecko->tree);
	strtab_release(&gecko->strings);
	strtab_release(&gecko->libs);
	vec_release(&gecko->lib_mapping);
	vec_release(&gecko->threads);
	free(gecko->func_of);
	free(gecko->order);
}

/* Meta and libs ---------------------------------------------------------------------------------- */

static void put_category(struct json *json, const char *name, const char *color)
{
	json_object(json);
	json_key(json, "name"), json_string(json, name);
	json_key(json, "color"), json_string(json, color);
	json_key(json, "subcategories"), json_array(json);
	json_string(json, "Other");
	json_end(json);
	json_end(json);
}

static const struct gecko_column extension_columns[] = {
	{"baseURL", NULL}, {"id", NULL}, {"name", NULL}, {NULL, NULL}};

static void put_meta(struct gecko *gecko)
{
	const struct profile *profile = gecko->profile;
	struct json *json = &gecko->json;
	const char *product = gecko->lib_mapping.nr ? text_base_name(gecko_lib_path(gecko, 0))
						    : "cprof";

	json_key(json, "meta"), json_object(json);
	json_key(json, "version"), json_int(json, GECKO_VERSION);
	json_key(json, "preprocessedProfileVersion"), json_int(json, PROCESSED_VERSION);
	json_key(json, "product"), json_string(json, product);
	json_key(json, "importedFrom"), json_string(json, "cprof " CPROF_VERSION);
	json_key(json, "interval"), json_int(json, 1);
	json_key(json, "startTime"), json_real(json, (double)profile->time_ns / NSEC_PER_MSEC);
	json_key(json, "processType"), json_int(json, 0);
	json_key(json, "stackwalk"), json_int(json, 1);
	json_key(json, "debug"), json_bool(json, false);
	json_key(json, "symbolicated"), json_bool(json, true);
	json_key(json, "symbolicationNotSupported"), json_bool(json, true);
	json_key(json, "usesOnlyOneStackType"), json_bool(json, true);
	json_key(json, "sourceCodeIsNotOnSearchfox"), json_bool(json, true);
	json_key(json, "oscpu"), json_string(json, "Linux");
	json_key(json, "markerSchema"), json_array(json), json_end(json);
	gecko_put_table(gecko, "extensions", 0, extension_columns);
	json_key(json, "categories"), json_array(json);
	put_category(json, "Other", "grey"); /* in the order of enum category */
	put_category(json, "User", "yellow");
	put_category(json, "Kernel", "orange");
	json_end(json);
	json_end(json);
}

/*
 * Breakpad's id of a build id: its first 16 bytes as a GUID, whose first three fields are numbers and
 * so turned around, in capitals, and an age of 0.
 */
static void put_breakpad_id(struct json *json, const char *build_id)
{
	static const char order[] = {6, 4, 2, 0, 10, 8, 14, 12, 16, 18, 20, 22, 24, 26, 28, 30};
	char out[34] = "";

	if (strlen(build_id) >= 32)
		for (size_t i = 0; i < sizeof(order); i++) {
			out[2 * i] = toupper((unsigned char)build_id[(size_t)order[i]]);
			out[2 * i + 1] = toupper((unsigned char)build_id[(size_t)order[i] + 1]);
		}
	json_string(json, strcat(out, *out ? "0" : ""));
}

static void put_libs(struct gecko *gecko)
{
	/* this machine's, as pprof does not say which it was */
	const char *machine = (const char *)getauxval(AT_PLATFORM);
	struct json *json = &gecko->json;

	json_key(json, "libs"), json_array(json);
	for (size_t i = 0; i < gecko->lib_mapping.nr; i++) {
		const char *path = gecko_lib_path(gecko, i), *name = text_base_name(path);
		const struct profile_mapping *mapping =
			&gecko->profile->mappings.at[gecko->lib_mapping.at[i]];
		const char *build_id = string_of(gecko->profile, mapping->build_id);

		json_object(json);
		json_key(json, "arch"), json_string(json, machine ? machine : "");
		json_key(json, "name"), json_string(json, name);
		json_key(json, "path"), json_string(json, path);
		json_key(json, "debugName"), json_string(json, name);
		json_key(json, "debugPath"), json_string(json, path);
		json_key(json, "breakpadId"), put_breakpad_id(json, build_id);
		json_key(json, "codeId");
		*build_id ? json_string(json, build_id) : json_null(json);
		json_end(json);
	}
	json_end(json);
}

/* Threads ---------------------------------------------------------------------------------------- */

/* What a value is on the page. */
struct weighing {
	const char *type; /* of the weights, in the format's words */
	double to_ms;	  /* factor of a time; 0: no time */
};

static struct weighing weighing_of(const struct profile *profile, uint32_t type)
{
	const char *unit = string_of(profile, profile->types[type].unit);

	if (!strcmp(unit, "nanoseconds"))
		return (struct weighing){"tracing-ms", 1e-6};
	if (!strcmp(unit, "microseconds"))
		return (struct weighing){"tracing-ms", 1e-3};
	if (!strcmp(unit, "milliseconds"))
		return (struct weighing){"tracing-ms", 1};
	if (!strcmp(unit, "seconds"))
		return (struct weighing){"tracing-ms", 1e3};
	return (struct weighing){strcmp(unit, "bytes") ? "samples" : "bytes", 0};
}

enum sample_column {
	SAMPLE_STACK,
	SAMPLE_TIME,
	SAMPLE_WEIGHT
};

static void put_samples(struct gecko *gecko, const struct gecko_thread *thread,
			enum sample_column column)
{
	const struct profile *profile = gecko->profile;
	struct weighing weighing = weighing_of(profile, gecko->type);
	struct json *json = &gecko->json;
	double time_ms = 0;

	json_array(json);
	for (size_t i = thread->first; i < thread->first + thread->nr; i++) {
		int64_t value = profile->samples.at[gecko->order[i]].values[gecko->type];
		uint32_t node = gecko->tree.sample_node[gecko->order[i]];
		double ms = weighing.to_ms * (double)value;

		if (column == SAMPLE_STACK)
			node == PREFIXTREE_ROOT ? json_null(json) : json_uint(json, node - 1);
		else if (column == SAMPLE_TIME)
			json_real(json, time_ms);
		else if (weighing.to_ms > 0)
			json_real(json, ms);
		else
			json_int(json, value);
		time_ms += weighing.to_ms > 0 ? (ms < 0 ? -ms : ms) : 1;
	}
	json_end(json);
}

/* A profile has none. */
static const struct gecko_column marker_columns[] = {
	{"data", NULL},	 {"name", NULL},     {"startTime", NULL}, {"endTime", NULL},
	{"phase", NULL}, {"category", NULL}, {NULL, NULL}};

static void put_id(struct json *json, const char *key, int64_t id)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, id);
	json_key(json, key), json_string(json, text);
}

static void put_thread(struct gecko *gecko, const struct gecko_thread *thread)
{
	struct json *json = &gecko->json;
	const char *type = string_of(gecko->profile, gecko->profile->types[gecko->type].type);

	json_object(json);
	json_key(json, "name");
	json_string(json, *thread->thread_name	  ? thread->thread_name
			  : *thread->process_name ? thread->process_name
						  : type);
	json_key(json, "isMainThread"), json_bool(json, !thread->tid || thread->tid == thread->pid);
	json_key(json, "processType"), json_string(json, "default");
	json_key(json, "processName"), json_string(json, thread->process_name);
	json_key(json, "processStartupTime"), json_int(json, 0);
	json_key(json, "processShutdownTime"), json_null(json);
	json_key(json, "registerTime"), json_int(json, 0);
	json_key(json, "unregisterTime"), json_null(json);
	json_key(json, "showMarkersInTimeline"), json_bool(json, false);
	gecko_put_empty(gecko, "pausedRanges");
	put_id(json, "pid", thread->pid);
	put_id(json, "tid", thread->tid ? thread->tid : thread->pid);
	gecko_put_table(gecko, "markers", 0, marker_columns);
	json_key(json, "samples"), json_object(json);
	json_key(json, "weightType");
	json_string(json, weighing_of(gecko->profile, gecko->type).type);
	json_key(json, "stack"), put_samples(gecko, thread, SAMPLE_STACK);
	json_key(json, "time"), put_samples(gecko, thread, SAMPLE_TIME);
	json_key(json, "weight"), put_samples(gecko, thread, SAMPLE_WEIGHT);
	json_key(json, "length"), json_uint(json, thread->nr);
	json_end(json);
	json_end(json);
}

int gecko_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	struct gecko gecko;
	int err;

	err = gecko_open(&gecko, profile, type);
	if (err) {
		gecko_release(&gecko);
		return err;
	}
	json_begin(&gecko.json, sink, ctx);
	json_object(&gecko.json);
	put_meta(&gecko);
	put_libs(&gecko);
	gecko_put_shared(&gecko);
	json_key(&gecko.json, "threads"), json_array(&gecko.json);
	vec_for_each(&gecko.threads, thread)
		put_thread(&gecko, thread);
	json_end(&gecko.json);
	gecko_put_empty(&gecko, "pages");
	gecko_put_empty(&gecko, "counters");
	gecko_put_empty(&gecko, "profilerOverhead");
	json_end(&gecko.json);
	err = json_finish(&gecko.json);
	gecko_release(&gecko);
	return err;
}
