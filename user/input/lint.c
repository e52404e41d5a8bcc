// SPDX-License-Identifier: BSD-2-Clause
/*
 * The walks are those of pprof.c, for the same reason: what refers to something stands before it as a
 * rule. But nothing ends them, save damage to the wire format itself: a finding is noted and the walk
 * goes on, so that one run tells everything.
 */
#include "input/lint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/vec.h"
#include "input/gunzip.h"
#include "input/idmap.h"
#include "input/reader.h"
#include "input/wire.h"

/* Pyroscope's limits, as it comes. */
#define MAX_SAMPLES	   16000
#define MAX_INFLATED_BYTES (4u << 20)
#define MAX_DEPTH	   1000
#define MAX_SAMPLE_LABELS  100
#define MAX_KEYS	   30
#define MAX_KEY_BYTES	   1024
#define MAX_VALUE_BYTES	   2048
#define MAX_NAME_BYTES	   65535

#define EARLIEST_NS 315532800000000000 /* 1980: before that nobody profiled, or in another unit */

const char *const lint_consumers[NR_LINT_CONSUMERS] = {"go tool pprof", "Parca", "Pyroscope",
						       "speedscope"};

const struct lint_rule lint_rules[NR_LINT_RULES] = {
#define X(id, name, ...) [LINT_##id] = {name, {__VA_ARGS__}},
	LINT_RULES(X)
#undef X
};

enum {
	TYPE = 1,
	SAMPLE,
	MAPPING,
	LOCATION,
	FUNCTION,
	STRING,
	NR_TABLES
};

static const char *const table_names[NR_TABLES] = {
	[MAPPING] = "mapping",
	[LOCATION] = "location",
	[FUNCTION] = "function",
};

struct string {
	const char *at;
	size_t len;
};

struct linter {
	const uint8_t *bytes, *end;
	struct lint *lint;
	size_t nr[NR_TABLES];
	struct string *strings;
	struct idmap ids[NR_TABLES]; /* of mappings, locations, functions */
	vec_of(uint64_t) keys;	     /* of labels with strings: different positions */
	size_t item;		     /* of its table, from 0 */
	bool is_broken;
};

__attribute__((format(printf, 4, 5))) static void note(struct linter *linter,
						       enum lint_rule_id rule, const uint8_t *at,
						       const char *fmt, ...)
{
	struct lint_finding *finding = &linter->lint->findings[rule];
	char raw[sizeof(finding->what)];
	va_list ap;

	if (finding->nr++)
		return;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	text_escape(raw, finding->what, sizeof(finding->what));
	finding->offset = at ? (uint64_t)(at - linter->bytes) : INPUT_NO_OFFSET;
}

static void broken(struct linter *linter, const uint8_t *at, const char *why)
{
	if (!linter->is_broken)
		note(linter, LINT_WIRE, at, "%s", why);
	linter->is_broken = true;
}

static void note_odd(struct linter *linter, const struct wire_field *field)
{
	if (field->type == WIRE_GROUP)
		note(linter, LINT_GROUP, field->tag, "a group, field %" PRIu64, field->number);
	else if (!field->number)
		note(linter, LINT_FIELD_0, field->tag, "a field with the number 0");
}

/* wire_next() with its failures noted. */
static bool next(struct linter *linter, struct wire *wire, struct wire_field *field)
{
	if (linter->is_broken || !wire_next(wire, field)) {
		if (wire->why)
			broken(linter, wire->at, wire->why);
		return false;
	}
	return true;
}

/* The same in a message within, and what is odd there is noted; at the top count() does it. */
static bool next_inner(struct linter *linter, struct wire *wire, struct wire_field *field)
{
	if (!next(linter, wire, field))
		return false;
	note_odd(linter, field);
	return true;
}

static bool expect(struct linter *linter, const struct wire_field *field, enum wire_type type)
{
	if (field->type != type)
		broken(linter, field->tag, "a field of another wire type than the format has");
	return !linter->is_broken;
}

/* The numbers of a message by field number; nr is one more than the last. */
static void numbers_of(struct linter *linter, struct wire wire, uint64_t *numbers, size_t nr)
{
	struct wire_field field;

	memset(numbers, 0, nr * sizeof(*numbers));
	while (next_inner(linter, &wire, &field))
		if (field.number && field.number < nr && expect(linter, &field, WIRE_VARINT))
			numbers[field.number] = field.value;
}

/* A string by its position; an empty one where there is none. */
static struct string string_at(struct linter *linter, uint64_t position, const uint8_t *at,
			       const char *what)
{
	if (position < linter->nr[STRING])
		return linter->strings[position];
	if ((int64_t)position < 0)
		note(linter, LINT_STRING_NEGATIVE, at, "%s is string %" PRId64, what,
		     (int64_t)position);
	else
		note(linter, LINT_STRING_INDEX, at, "%s is string %" PRIu64 " of %zu", what,
		     position, linter->nr[STRING]);
	return (struct string){"", 0};
}

static void lint_string(struct linter *linter, const struct wire_field *field)
{
	struct string string = {(const char *)field->body.at, field->body.end - field->body.at};

	linter->strings[linter->item] = string;
	if (!linter->item && string.len)
		note(linter, LINT_FIRST_STRING, field->tag, "the first string is not \"\"");
	if (!text_is_utf8(string.at, string.len))
		note(linter, LINT_UTF8, field->tag, "string %zu is not UTF-8: %.*s", linter->item,
		     string.len < 60 ? (int)string.len : 60, string.at);
	if (string.len > MAX_NAME_BYTES)
		note(linter, LINT_LONG_NAME, field->tag, "string %zu has %zu bytes", linter->item,
		     string.len);
}

static void lint_type_name(struct linter *linter, struct string name, const uint8_t *at)
{
	if (memchr(name.at, '-', name.len))
		note(linter, LINT_TYPE_DASH, at, "sample type %.*s", (int)name.len, name.at);
	else if (memchr(name.at, ' ', name.len) || memchr(name.at, '.', name.len))
		note(linter, LINT_TYPE_CHARACTER, at, "sample type %.*s", (int)name.len, name.at);
}

static void lint_type(struct linter *linter, const struct wire_field *field)
{
	uint64_t numbers[3];
	struct string name;

	numbers_of(linter, field->body, numbers, 3);
	name = string_at(linter, numbers[1], field->tag, "a sample type");
	string_at(linter, numbers[2], field->tag, "a sample type's unit");
	if (name.len < MAX_KEY_BYTES)
		lint_type_name(linter, name, field->tag);
}

/* Ids that must be there once, and should be 1..N. */
static void lint_id(struct linter *linter, int table, uint64_t id, enum lint_rule_id if_0,
		    const uint8_t *at)
{
	const char *name = table_names[table];

	if (!id)
		note(linter, if_0, at, "%s number %zu has the id 0", name, linter->item + 1);
	else if (!idmap_add(&linter->ids[table], id, linter->item + 1))
		note(linter, LINT_SAME_ID, at, "two %ss have the id %" PRIu64, name, id);
	else if (id != linter->item + 1)
		note(linter, LINT_ID_ORDER, at, "%s number %zu has the id %" PRIu64, name,
		     linter->item + 1, id);
}

static void lint_mapping(struct linter *linter, const struct wire_field *field)
{
	uint64_t numbers[11];

	numbers_of(linter, field->body, numbers, 11);
	lint_id(linter, MAPPING, numbers[1], LINT_MAPPING_0, field->tag);
	string_at(linter, numbers[5], field->tag, "a mapping's filename");
	string_at(linter, numbers[6], field->tag, "a mapping's build id");
}

static void lint_function(struct linter *linter, const struct wire_field *field)
{
	uint64_t numbers[6];
	bool has_name;

	numbers_of(linter, field->body, numbers, 6);
	lint_id(linter, FUNCTION, numbers[1], LINT_FUNCTION_0, field->tag);
	has_name = string_at(linter, numbers[2], field->tag, "a function's name").len > 0;
	string_at(linter, numbers[3], field->tag, "a function's system name");
	string_at(linter, numbers[4], field->tag, "a function's filename");
	if (!has_name && numbers[2] < linter->nr[STRING])
		note(linter, LINT_NO_NAME, field->tag, "function number %zu", linter->item + 1);
}

static void lint_line(struct linter *linter, const struct wire_field *field)
{
	uint64_t numbers[4];

	if (!expect(linter, field, WIRE_LEN))
		return;
	numbers_of(linter, field->body, numbers, 4);
	if (!idmap_get(&linter->ids[FUNCTION], numbers[1]))
		note(linter, LINT_NO_FUNCTION, field->tag,
		     "location number %zu names function %" PRIu64 ", which is not there",
		     linter->item + 1, numbers[1]);
}

static void lint_location(struct linter *linter, const struct wire_field *field)
{
	struct wire wire = field->body;
	struct wire_field inner;
	uint64_t numbers[6] = {0};
	size_t nr_lines = 0;

	while (next_inner(linter, &wire, &inner)) {
		if (inner.number == 4) {
			lint_line(linter, &inner);
			nr_lines++;
		} else if (inner.number && inner.number < 6 &&
			   expect(linter, &inner, WIRE_VARINT)) {
			numbers[inner.number] = inner.value;
		}
	}
	lint_id(linter, LOCATION, numbers[1], LINT_LOCATION_0, field->tag);
	if (numbers[2] && !idmap_get(&linter->ids[MAPPING], numbers[2]))
		note(linter, LINT_NO_MAPPING, field->tag,
		     "location number %zu names mapping %" PRIu64 ", which is not there",
		     linter->item + 1, numbers[2]);
	if (!nr_lines)
		note(linter, numbers[3] ? LINT_NO_LINES : LINT_NO_ADDRESS, field->tag,
		     "location number %zu, address 0x%" PRIx64 ", has no function",
		     linter->item + 1, numbers[3]);
}

static void remember_key(struct linter *linter, uint64_t key)
{
	vec_for_each(&linter->keys, known)
		if (*known == key)
			return;
	if (linter->keys.nr <= MAX_KEYS) /* one more is enough to know */
		vec_push(&linter->keys, key);
}

static uint64_t lint_label(struct linter *linter, const struct wire_field *field)
{
	uint64_t numbers[5];
	struct string key, value = {"", 0};

	if (!expect(linter, field, WIRE_LEN))
		return 0;
	numbers_of(linter, field->body, numbers, 5);
	key = string_at(linter, numbers[1], field->tag, "a label's key");
	if (numbers[2])
		value = string_at(linter, numbers[2], field->tag, "a label's value");
	else if (numbers[4])
		string_at(linter, numbers[4], field->tag, "a label's unit");
	if (!key.len && numbers[1] < linter->nr[STRING])
		note(linter, LINT_LABEL_KEY, field->tag, "sample %zu: a label without a key",
		     linter->item);
	if (!numbers[2] && !numbers[3] && !numbers[4])
		note(linter, LINT_LABEL_EMPTY, field->tag, "sample %zu: label %.*s has no value",
		     linter->item, key.len < 60 ? (int)key.len : 60, key.at);
	if (key.len > MAX_KEY_BYTES || value.len > MAX_VALUE_BYTES)
		note(linter, LINT_LABEL_LONG, field->tag,
		     "sample %zu: a label of %zu bytes, its value of %zu", linter->item, key.len,
		     value.len);
	if (numbers[2])
		remember_key(linter, numbers[1]);
	return numbers[1];
}

/* The locations a sample names. */
static size_t lint_stack(struct linter *linter, const struct wire_field *field)
{
	struct wire ids = field->body;
	uint64_t id;
	size_t nr = 0;

	if (field->type != WIRE_LEN && !expect(linter, field, WIRE_VARINT))
		return 0;
	for (; wire_varint(&ids, &id); nr++)
		if (!id || !idmap_get(&linter->ids[LOCATION], id))
			note(linter, LINT_NO_LOCATION, field->tag,
			     "sample %zu names location %" PRIu64 ", which is not there",
			     linter->item, id);
	if (ids.why)
		broken(linter, ids.at, ids.why);
	return nr;
}

/* What is known of a sample when its fields are through. */
struct sample_seen {
	size_t nr_frames, nr_values, nr_labels;
	bool is_negative, is_set;
	uint64_t keys[MAX_SAMPLE_LABELS];
};

static void lint_values(struct linter *linter, const struct wire_field *field,
			struct sample_seen *seen)
{
	struct wire values = field->body;
	uint64_t value;

	if (field->type != WIRE_LEN && !expect(linter, field, WIRE_VARINT))
		return;
	for (; wire_varint(&values, &value); seen->nr_values++) {
		seen->is_negative |= (int64_t)value < 0;
		seen->is_set |= value != 0;
	}
	if (values.why)
		broken(linter, values.at, values.why);
}

static void lint_sample_label(struct linter *linter, const struct wire_field *field,
			      struct sample_seen *seen)
{
	uint64_t key = lint_label(linter, field);
	size_t nr = seen->nr_labels++;

	if (nr >= MAX_SAMPLE_LABELS)
		return;
	for (size_t i = 0; i < nr; i++)
		if (seen->keys[i] == key)
			note(linter, LINT_LABEL_TWICE, field->tag,
			     "sample %zu: two labels with one key", linter->item);
	seen->keys[nr] = key;
}

static void judge_sample(struct linter *linter, const struct sample_seen *seen, const uint8_t *at)
{
	size_t i = linter->item;

	if (linter->is_broken)
		return;
	if (seen->nr_values != linter->nr[TYPE])
		note(linter, LINT_VALUE_COUNT, at, "sample %zu has %zu values for %zu types", i,
		     seen->nr_values, linter->nr[TYPE]);
	else if (!seen->is_set)
		note(linter, LINT_ZERO, at, "sample %zu has only zeros", i);
	if (!seen->nr_frames)
		note(linter, LINT_EMPTY_STACK, at, "sample %zu has no location", i);
	if (seen->nr_frames > MAX_DEPTH)
		note(linter, LINT_DEEP, at, "sample %zu has %zu locations", i, seen->nr_frames);
	if (seen->is_negative)
		note(linter, LINT_NEGATIVE, at, "sample %zu", i);
	if (seen->nr_labels > MAX_SAMPLE_LABELS)
		note(linter, LINT_LABELS, at, "sample %zu has %zu labels, more than %d", i,
		     seen->nr_labels, MAX_SAMPLE_LABELS);
}

static void lint_sample(struct linter *linter, const struct wire_field *field)
{
	struct sample_seen seen;
	struct wire wire = field->body;
	struct wire_field inner;

	seen.nr_frames = seen.nr_values = seen.nr_labels = 0;
	seen.is_negative = seen.is_set = false;
	while (next_inner(linter, &wire, &inner)) {
		if (inner.number == 1)
			seen.nr_frames += lint_stack(linter, &inner);
		else if (inner.number == 2)
			lint_values(linter, &inner, &seen);
		else if (inner.number == 3)
			lint_sample_label(linter, &inner, &seen);
	}
	judge_sample(linter, &seen, field->tag);
}

/* Walks ------------------------------------------------------------------------------------------- */

static struct wire whole(const struct linter *linter)
{
	return (struct wire){.at = linter->bytes, .end = linter->end};
}

static void count(struct linter *linter)
{
	struct wire wire = whole(linter);
	struct wire_field field;

	while (next(linter, &wire, &field)) {
		note_odd(linter, &field);
		if (field.number && field.number < NR_TABLES && expect(linter, &field, WIRE_LEN))
			linter->nr[field.number]++;
	}
}

static void walk(struct linter *linter, uint64_t table,
		 void (*judge)(struct linter *linter, const struct wire_field *field))
{
	struct wire wire = whole(linter);
	struct wire_field field;

	linter->item = 0;
	while (next(linter, &wire, &field)) {
		if (field.number != table)
			continue;
		judge(linter, &field);
		linter->item++;
	}
}

static bool same_name(struct string a, struct string b)
{
	return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

static void lint_same_types(struct linter *linter)
{
	struct string names[64];
	struct wire wire = whole(linter);
	struct wire_field field;
	size_t nr = 0;

	while (nr < 64 && next(linter, &wire, &field)) {
		uint64_t numbers[3];

		if (field.number != TYPE)
			continue;
		numbers_of(linter, field.body, numbers, 3);
		names[nr++] = string_at(linter, numbers[1], field.tag, "a sample type");
		for (size_t i = 0; i + 1 < nr; i++)
			if (same_name(names[i], names[nr - 1]))
				note(linter, LINT_SAME_TYPES, field.tag,
				     "two sample types are called %.*s", (int)names[i].len,
				     names[i].at);
	}
}

/* The profile's own numbers. */
static void lint_header(struct linter *linter)
{
	struct wire wire = whole(linter);
	struct wire_field field;
	uint64_t numbers[16] = {0}, period_type[3] = {0};

	while (next(linter, &wire, &field)) {
		if (field.number < 7 || field.number > 15 || field.number == 13)
			continue;
		if (field.number == 11) {
			if (expect(linter, &field, WIRE_LEN))
				numbers_of(linter, field.body, period_type, 3);
			continue;
		}
		if (field.number == 9 && numbers[9])
			note(linter, LINT_GLUED, field.tag, "a second time_nanos");
		if (expect(linter, &field, WIRE_VARINT))
			numbers[field.number] = field.value;
	}
	string_at(linter, numbers[7], NULL, "drop_frames");
	string_at(linter, numbers[8], NULL, "keep_frames");
	string_at(linter, numbers[14], NULL, "default_sample_type");
	string_at(linter, numbers[15], NULL, "doc_url");
	if (!string_at(linter, period_type[1], NULL, "the period's type").len ||
	    !string_at(linter, period_type[2], NULL, "the period's unit").len)
		note(linter, LINT_PERIOD_TYPE, NULL, "no period type, or no unit of it");
	if (!numbers[12])
		note(linter, LINT_PERIOD, NULL, "the period is 0");
	if ((int64_t)numbers[9] < EARLIEST_NS)
		note(linter, LINT_TIME, NULL, "the time is %" PRId64 " ns after 1970",
		     (int64_t)numbers[9]);
}

static void lint_comments(struct linter *linter, const struct wire_field *field)
{
	struct wire positions = field->body;
	uint64_t position;

	if (field->type != WIRE_LEN && !expect(linter, field, WIRE_VARINT))
		return;
	while (wire_varint(&positions, &position))
		string_at(linter, position, field->tag, "a comment");
	if (positions.why)
		broken(linter, positions.at, positions.why);
}

static void judge_counts(struct linter *linter)
{
	if (!linter->nr[TYPE])
		note(linter, LINT_NO_TYPES, NULL, "no sample type");
	else if (!linter->nr[SAMPLE])
		note(linter, LINT_NO_SAMPLES, NULL, "no sample");
	if (linter->nr[SAMPLE] > MAX_SAMPLES)
		note(linter, LINT_SAMPLES, NULL, "%zu samples", linter->nr[SAMPLE]);
	if (linter->end - linter->bytes > MAX_INFLATED_BYTES)
		note(linter, LINT_SIZE, NULL, "%td bytes", linter->end - linter->bytes);
	if (linter->keys.nr > MAX_KEYS)
		note(linter, LINT_LABELS, NULL, "more than %d different labels with strings",
		     MAX_KEYS);
}

static void linter_release(struct linter *linter)
{
	free(linter->strings);
	for (int table = 0; table < NR_TABLES; table++)
		idmap_release(&linter->ids[table]);
	vec_release(&linter->keys);
}

static int lint_wire(const struct source *source, struct lint *lint, struct input_error *error)
{
	struct linter linter scoped(linter_release) = {
		.bytes = source->bytes, .end = source->bytes + source->len, .lint = lint};

	count(&linter);
	for (int table = TYPE; table < NR_TABLES; table++)
		if (linter.nr[table] > source->limits->max_items)
			return input_fail(error, -EFBIG, INPUT_NO_OFFSET,
					  "more than %zu items of a kind",
					  source->limits->max_items);
	if (linter.is_broken)
		return 0;
	linter.strings = xcalloc(linter.nr[STRING], sizeof(*linter.strings));
	for (int table = MAPPING; table <= FUNCTION; table++)
		idmap_init(&linter.ids[table], linter.nr[table]);
	walk(&linter, STRING, lint_string);
	walk(&linter, TYPE, lint_type);
	walk(&linter, MAPPING, lint_mapping);
	walk(&linter, FUNCTION, lint_function);
	walk(&linter, LOCATION, lint_location);
	walk(&linter, SAMPLE, lint_sample);
	walk(&linter, 13, lint_comments);
	lint_same_types(&linter);
	lint_header(&linter);
	judge_counts(&linter);
	return 0;
}

static void note_container(struct lint *lint, enum lint_rule_id rule, const char *what,
			   uint64_t offset)
{
	struct lint_finding *finding = &lint->findings[rule];

	finding->nr = 1;
	finding->offset = offset;
	snprintf(finding->what, sizeof(finding->what), "%.*s", (int)sizeof(finding->what) - 1,
		 what);
}

int lint_bytes(const void *bytes, size_t len, const struct input_limits *limits, struct lint *lint,
	       struct input_error *error)
{
	struct source source = {.bytes = bytes, .len = len, .limits = limits};
	uint8_t *inflated scoped(freep) = NULL;
	struct lint found = {0};
	struct input_error gzip;
	int err = 0;

	if (gunzip_detect(bytes, len)) {
		err = gunzip(bytes, len, limits, &inflated, &source.len, &gzip);
		source.bytes = inflated;
		if (err == -EFBIG) {
			*error = gzip;
			return err;
		}
	}
	if (err)
		note_container(&found, LINT_GZIP, gzip.message, gzip.offset);
	else if (!source.len)
		note_container(&found, LINT_EMPTY, "nothing is in it", INPUT_NO_OFFSET);
	else if (inflated && gunzip_detect(source.bytes, source.len))
		note_container(&found, LINT_GZIP_TWICE, "gzip in gzip", INPUT_NO_OFFSET);
	else if (input_format_of(source.bytes, source.len) != INPUT_PPROF)
		note_container(&found, LINT_NOT_PPROF,
			       input_format_name(input_format_of(source.bytes, source.len)),
			       INPUT_NO_OFFSET);
	else if (lint_wire(&source, &found, error))
		return -EFBIG;
	*lint = found;
	return 0;
}
