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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "input/gunzip.h"
#include "input/linter.h"
#include "input/reader.h"

/* Pyroscope's limits, as it comes. */
#define MAX_SAMPLES	   16000
#define MAX_INFLATED_BYTES (4u << 20)

#define EARLIEST_NS 315532800000000000 /* 1980: before that nobody profiled, or in another unit */

const char *const lint_consumers[NR_LINT_CONSUMERS] = {"go tool pprof", "Parca", "Pyroscope",
						       "speedscope"};

const struct lint_rule lint_rules[NR_LINT_RULES] = {
#define X(id, name, ...) [LINT_##id] = {name, {__VA_ARGS__}},
	LINT_RULES(X)
#undef X
};

void linter_note(struct linter *linter, enum lint_rule_id rule, const uint8_t *at, const char *fmt,
		 ...)
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

void linter_broken(struct linter *linter, const uint8_t *at, const char *why)
{
	if (!linter->is_broken)
		linter_note(linter, LINT_WIRE, at, "%s", why);
	linter->is_broken = true;
}

static void note_odd(struct linter *linter, const struct wire_field *field)
{
	if (field->type == WIRE_GROUP)
		linter_note(linter, LINT_GROUP, field->tag, "field %" PRIu64 " is a group",
			    field->number);
	else if (!field->number)
		linter_note(linter, LINT_FIELD_0, field->tag, "a field has the number 0");
}

/* wire_next() with its failures noted. */
static bool next(struct linter *linter, struct wire *wire, struct wire_field *field)
{
	if (linter->is_broken || !wire_next(wire, field)) {
		if (wire->why)
			linter_broken(linter, wire->at, wire->why);
		return false;
	}
	return true;
}

/* The same in a message within, and what is odd there is noted; at the top count() does it. */
bool linter_next(struct linter *linter, struct wire *wire, struct wire_field *field)
{
	if (!next(linter, wire, field))
		return false;
	note_odd(linter, field);
	return true;
}

bool linter_expect(struct linter *linter, const struct wire_field *field, enum wire_type type)
{
	if (field->type != type)
		linter_broken(linter, field->tag, "a field has the wrong wire type");
	return !linter->is_broken;
}

/* The numbers of a message by field number; nr is one more than the last. */
void linter_numbers(struct linter *linter, struct wire wire, uint64_t *numbers, size_t nr)
{
	struct wire_field field;

	memset(numbers, 0, nr * sizeof(*numbers));
	while (linter_next(linter, &wire, &field))
		if (field.number && field.number < nr && linter_expect(linter, &field, WIRE_VARINT))
			numbers[field.number] = field.value;
}

/* A string by its position; an empty one where there is none. */
struct string linter_string(struct linter *linter, uint64_t position, const uint8_t *at,
			    const char *what)
{
	if (position < linter->nr[STRING])
		return linter->strings[position];
	if ((int64_t)position < 0)
		linter_note(linter, LINT_STRING_NEGATIVE, at, "%s refers to string %" PRId64, what,
			    (int64_t)position);
	else
		linter_note(linter, LINT_STRING_INDEX, at,
			    "%s refers to string %" PRIu64 ", but the table has %zu", what,
			    position, linter->nr[STRING]);
	return (struct string){"", 0};
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
		if (field.number && field.number < NR_TABLES &&
		    linter_expect(linter, &field, WIRE_LEN))
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
		linter_numbers(linter, field.body, numbers, 3);
		names[nr++] = linter_string(linter, numbers[1], field.tag, "a sample type");
		for (size_t i = 0; i + 1 < nr; i++)
			if (same_name(names[i], names[nr - 1]))
				linter_note(linter, LINT_SAME_TYPES, field.tag,
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
	struct string type, unit;

	while (next(linter, &wire, &field)) {
		if (field.number < 7 || field.number > 15 || field.number == 13)
			continue;
		if (field.number == 11) {
			if (linter_expect(linter, &field, WIRE_LEN))
				linter_numbers(linter, field.body, period_type, 3);
			continue;
		}
		if (field.number == 9 && numbers[9])
			linter_note(linter, LINT_GLUED, field.tag, "time_nanos occurs twice");
		if (linter_expect(linter, &field, WIRE_VARINT))
			numbers[field.number] = field.value;
	}
	linter_string(linter, numbers[7], NULL, "drop_frames");
	linter_string(linter, numbers[8], NULL, "keep_frames");
	linter_string(linter, numbers[14], NULL, "default_sample_type");
	linter_string(linter, numbers[15], NULL, "doc_url");
	type = linter_string(linter, period_type[1], NULL, "the period's type");
	unit = linter_string(linter, period_type[2], NULL, "the period's unit");
	if (!type.len || !unit.len)
		linter_note(linter, LINT_PERIOD_TYPE, NULL, "the period type or its unit is empty");
	if (!numbers[12])
		linter_note(linter, LINT_PERIOD, NULL, "the period is 0");
	if ((int64_t)numbers[9] < EARLIEST_NS)
		linter_note(linter, LINT_TIME, NULL, "the time is %" PRId64 " ns after 1970",
			    (int64_t)numbers[9]);
}

static void lint_comments(struct linter *linter, const struct wire_field *field)
{
	struct wire positions = field->body;
	uint64_t position;

	if (field->type != WIRE_LEN && !linter_expect(linter, field, WIRE_VARINT))
		return;
	while (wire_varint(&positions, &position))
		linter_string(linter, position, field->tag, "a comment");
	if (positions.why)
		linter_broken(linter, positions.at, positions.why);
}

static void judge_counts(struct linter *linter)
{
	if (!linter->nr[TYPE])
		linter_note(linter, LINT_NO_TYPES, NULL, "the profile has no sample type");
	else if (!linter->nr[SAMPLE])
		linter_note(linter, LINT_NO_SAMPLES, NULL, "the profile has no sample");
	if (linter->nr[SAMPLE] > MAX_SAMPLES)
		linter_note(linter, LINT_SAMPLES, NULL, "the profile has %zu samples",
			    linter->nr[SAMPLE]);
	if (linter->end - linter->bytes > MAX_INFLATED_BYTES)
		linter_note(linter, LINT_SIZE, NULL, "the profile has %td bytes",
			    linter->end - linter->bytes);
	if (linter->keys.nr > MAX_KEYS)
		linter_note(linter, LINT_LABELS, NULL,
			    "string labels have more than %d different keys", MAX_KEYS);
}

static void linter_release(struct linter *linter)
{
	free(linter->strings);
	free(linter->function_owners);
	free(linter->location_owners);
	prune_rule_free(linter->allocators);
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
					  "has more than %zu items of one kind",
					  source->limits->max_items);
	if (linter.is_broken)
		return 0;
	linter.strings = xcalloc(linter.nr[STRING], sizeof(*linter.strings));
	linter.function_owners = xcalloc(linter.nr[FUNCTION] + 1, 1);
	linter.location_owners = xcalloc(linter.nr[LOCATION] + 1, 1);
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
		note_container(&found, LINT_EMPTY, "the file is empty", INPUT_NO_OFFSET);
	else if (inflated && gunzip_detect(source.bytes, source.len))
		note_container(&found, LINT_GZIP_TWICE, "the data is compressed twice with gzip",
			       INPUT_NO_OFFSET);
	else if (input_format_of(source.bytes, source.len) != INPUT_PPROF)
		note_container(&found, LINT_NOT_PPROF,
			       input_format_name(input_format_of(source.bytes, source.len)),
			       INPUT_NO_OFFSET);
	else if (lint_wire(&source, &found, error))
		return -EFBIG;
	*lint = found;
	return 0;
}
