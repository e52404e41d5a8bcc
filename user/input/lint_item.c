// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checks one message of a pprof file: a string, a sample type, a mapping, a function, a location or a
 * sample. lint.c calls these in the order of the file's tables, so that what an item refers to is known.
 */
#include "input/linter.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "profile/allocframes.h"

/* Pyroscope's limits, as it comes. */
#define MAX_DEPTH	  1000
#define MAX_SAMPLE_LABELS 100
#define MAX_KEY_BYTES	  1024
#define MAX_VALUE_BYTES	  2048
#define MAX_NAME_BYTES	  65535

static const char *const table_names[NR_TABLES] = {
	[MAPPING] = "mapping",
	[LOCATION] = "location",
	[FUNCTION] = "function",
};

void lint_string(struct linter *linter, const struct wire_field *field)
{
	struct string string = {(const char *)field->body.at, field->body.end - field->body.at};

	linter->strings[linter->item] = string;
	if (!linter->item && string.len)
		linter_note(linter, LINT_FIRST_STRING, field->tag, "string 0 is not empty");
	if (!text_is_utf8(string.at, string.len))
		linter_note(linter, LINT_UTF8, field->tag, "string %zu is not UTF-8: %.*s",
			    linter->item, string.len < 60 ? (int)string.len : 60, string.at);
	if (string.len > MAX_NAME_BYTES)
		linter_note(linter, LINT_LONG_NAME, field->tag, "string %zu has %zu bytes",
			    linter->item, string.len);
}

static void lint_type_name(struct linter *linter, struct string name, const uint8_t *at)
{
	if (memchr(name.at, '-', name.len))
		linter_note(linter, LINT_TYPE_DASH, at, "sample type %.*s has a '-'", (int)name.len,
			    name.at);
	else if (memchr(name.at, ' ', name.len) || memchr(name.at, '.', name.len))
		linter_note(linter, LINT_TYPE_CHARACTER, at, "sample type %.*s has a ' ' or '.'",
			    (int)name.len, name.at);
}

/* Does a sample type say that this is about a heap? */
static bool is_of_heap(struct string name)
{
	static const char *const types[] = {"alloc_objects", "alloc_space", "inuse_objects",
					    "inuse_space"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (name.len == strlen(types[i]) && !memcmp(name.at, types[i], name.len))
			return true;
	return false;
}

void lint_type(struct linter *linter, const struct wire_field *field)
{
	uint64_t numbers[3];
	struct string name;

	linter_numbers(linter, field->body, numbers, 3);
	name = linter_string(linter, numbers[1], field->tag, "a sample type");
	linter_string(linter, numbers[2], field->tag, "a sample type's unit");
	if (name.len < MAX_KEY_BYTES)
		lint_type_name(linter, name, field->tag);
	if (is_of_heap(name) && !linter->allocators)
		linter->allocators = prune_rule_new(allocator_frames, NULL);
}

/* Ids that must be there once, and should be 1..N. */
static void lint_id(struct linter *linter, int table, uint64_t id, enum lint_rule_id if_0,
		    const uint8_t *at)
{
	const char *name = table_names[table];

	if (!id)
		linter_note(linter, if_0, at, "%s number %zu has the id 0", name, linter->item + 1);
	else if (!idmap_add(&linter->ids[table], id, linter->item + 1))
		linter_note(linter, LINT_SAME_ID, at, "two %ss have the id %" PRIu64, name, id);
	else if (id != linter->item + 1)
		linter_note(linter, LINT_ID_ORDER, at, "%s number %zu has the id %" PRIu64, name,
			    linter->item + 1, id);
}

void lint_mapping(struct linter *linter, const struct wire_field *field)
{
	uint64_t numbers[11];

	linter_numbers(linter, field->body, numbers, 11);
	lint_id(linter, MAPPING, numbers[1], LINT_MAPPING_0, field->tag);
	linter_string(linter, numbers[5], field->tag, "a mapping's filename");
	linter_string(linter, numbers[6], field->tag, "a mapping's build id");
}

static uint8_t owner_of(const struct linter *linter, struct string name)
{
	char *text scoped(freep) = NULL;

	if (!linter->allocators || (name.len && *name.at == '['))
		return 0;
	text = xasprintf("%.*s", name.len < MAX_NAME_BYTES ? (int)name.len : MAX_NAME_BYTES,
			 name.at);
	return prune_rule_drops(linter->allocators, text) ? LEADS_ALLOCATOR : HAS_OTHER;
}

void lint_function(struct linter *linter, const struct wire_field *field)
{
	uint64_t numbers[6];
	struct string name;
	bool has_name;

	linter_numbers(linter, field->body, numbers, 6);
	lint_id(linter, FUNCTION, numbers[1], LINT_FUNCTION_0, field->tag);
	name = linter_string(linter, numbers[2], field->tag, "a function's name");
	has_name = name.len > 0;
	linter->function_owners[linter->item + 1] = owner_of(linter, name);
	linter_string(linter, numbers[3], field->tag, "a function's system name");
	linter_string(linter, numbers[4], field->tag, "a function's filename");
	if (!has_name && numbers[2] < linter->nr[STRING])
		linter_note(linter, LINT_NO_NAME, field->tag, "function number %zu has no name",
			    linter->item + 1);
}

/* is_first: of its location, and so the innermost one. */
static void lint_line(struct linter *linter, const struct wire_field *field, bool is_first)
{
	uint64_t numbers[4];
	uint32_t function;

	if (!linter_expect(linter, field, WIRE_LEN))
		return;
	linter_numbers(linter, field->body, numbers, 4);
	function = idmap_get(&linter->ids[FUNCTION], numbers[1]);
	linter->location_owners[linter->item + 1] |= linter->function_owners[function] &
						     (is_first ? UINT8_MAX : HAS_OTHER);
	if (!function)
		linter_note(linter, LINT_NO_FUNCTION, field->tag,
			    "location number %zu refers to function %" PRIu64
			    ", which does not exist",
			    linter->item + 1, numbers[1]);
}

void lint_location(struct linter *linter, const struct wire_field *field)
{
	struct wire wire = field->body;
	struct wire_field inner;
	uint64_t numbers[6] = {0};
	size_t nr_lines = 0;

	while (linter_next(linter, &wire, &inner)) {
		if (inner.number == 4) {
			lint_line(linter, &inner, !nr_lines++);
		} else if (inner.number && inner.number < 6 &&
			   linter_expect(linter, &inner, WIRE_VARINT)) {
			numbers[inner.number] = inner.value;
		}
	}
	lint_id(linter, LOCATION, numbers[1], LINT_LOCATION_0, field->tag);
	if (numbers[2] && !idmap_get(&linter->ids[MAPPING], numbers[2]))
		linter_note(linter, LINT_NO_MAPPING, field->tag,
			    "location number %zu refers to mapping %" PRIu64
			    ", which does not exist",
			    linter->item + 1, numbers[2]);
	if (!nr_lines)
		linter_note(linter, numbers[3] ? LINT_NO_LINES : LINT_NO_ADDRESS, field->tag,
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

	if (!linter_expect(linter, field, WIRE_LEN))
		return 0;
	linter_numbers(linter, field->body, numbers, 5);
	key = linter_string(linter, numbers[1], field->tag, "a label's key");
	if (numbers[2])
		value = linter_string(linter, numbers[2], field->tag, "a label's value");
	else if (numbers[4])
		linter_string(linter, numbers[4], field->tag, "a label's unit");
	if (!key.len && numbers[1] < linter->nr[STRING])
		linter_note(linter, LINT_LABEL_KEY, field->tag,
			    "sample %zu has a label without a key", linter->item);
	if (!numbers[2] && !numbers[3] && !numbers[4])
		linter_note(linter, LINT_LABEL_EMPTY, field->tag,
			    "sample %zu has a label %.*s without a value", linter->item,
			    key.len < 60 ? (int)key.len : 60, key.at);
	if (key.len > MAX_KEY_BYTES || value.len > MAX_VALUE_BYTES)
		linter_note(linter, LINT_LABEL_LONG, field->tag,
			    "sample %zu has a label of %zu bytes with a value of %zu bytes",
			    linter->item, key.len, value.len);
	if (numbers[2])
		remember_key(linter, numbers[1]);
	return numbers[1];
}

/* What is known of a sample when its fields are through. */
struct sample_seen {
	size_t nr_frames, nr_values, nr_labels;
	bool is_negative, is_set;
	uint8_t owners; /* LEADS_ALLOCATOR: of its leaf; HAS_OTHER: of any frame */
	uint64_t keys[MAX_SAMPLE_LABELS];
};

/* The locations a sample names. */
static void lint_stack(struct linter *linter, const struct wire_field *field,
		       struct sample_seen *seen)
{
	struct wire ids = field->body;
	uint32_t location;
	uint64_t id;

	if (field->type != WIRE_LEN && !linter_expect(linter, field, WIRE_VARINT))
		return;
	for (; wire_varint(&ids, &id); seen->nr_frames++) {
		location = id ? idmap_get(&linter->ids[LOCATION], id) : 0;
		if (!location)
			linter_note(linter, LINT_NO_LOCATION, field->tag,
				    "sample %zu refers to location %" PRIu64
				    ", which does not exist",
				    linter->item, id);
		seen->owners |= linter->location_owners[location] &
				(seen->nr_frames ? HAS_OTHER : UINT8_MAX);
	}
	if (ids.why)
		linter_broken(linter, ids.at, ids.why);
}

static void lint_values(struct linter *linter, const struct wire_field *field,
			struct sample_seen *seen)
{
	struct wire values = field->body;
	uint64_t value;

	if (field->type != WIRE_LEN && !linter_expect(linter, field, WIRE_VARINT))
		return;
	for (; wire_varint(&values, &value); seen->nr_values++) {
		seen->is_negative |= (int64_t)value < 0;
		seen->is_set |= value != 0;
	}
	if (values.why)
		linter_broken(linter, values.at, values.why);
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
			linter_note(linter, LINT_LABEL_TWICE, field->tag,
				    "sample %zu has two labels with the same key", linter->item);
	seen->keys[nr] = key;
}

static void judge_sample(struct linter *linter, const struct sample_seen *seen, const uint8_t *at)
{
	size_t i = linter->item;

	if (linter->is_broken)
		return;
	if (seen->nr_values != linter->nr[TYPE])
		linter_note(linter, LINT_VALUE_COUNT, at, "sample %zu has %zu values for %zu types",
			    i, seen->nr_values, linter->nr[TYPE]);
	else if (!seen->is_set)
		linter_note(linter, LINT_ZERO, at, "sample %zu has only values of 0", i);
	if (!seen->nr_frames)
		linter_note(linter, LINT_EMPTY_STACK, at, "sample %zu has no location", i);
	if (seen->nr_frames > MAX_DEPTH)
		linter_note(linter, LINT_DEEP, at, "sample %zu has %zu locations", i,
			    seen->nr_frames);
	if (seen->owners == (LEADS_ALLOCATOR | HAS_OTHER))
		linter_note(linter, LINT_ALLOCATOR, at,
			    "sample %zu has a function of the allocator as its leaf", i);
	if (seen->is_negative)
		linter_note(linter, LINT_NEGATIVE, at, "sample %zu has a negative value", i);
	if (seen->nr_labels > MAX_SAMPLE_LABELS)
		linter_note(linter, LINT_LABELS, at, "sample %zu has %zu labels, more than %d", i,
			    seen->nr_labels, MAX_SAMPLE_LABELS);
}

void lint_sample(struct linter *linter, const struct wire_field *field)
{
	struct sample_seen seen;
	struct wire wire = field->body;
	struct wire_field inner;

	seen.owners = 0;
	seen.nr_frames = seen.nr_values = seen.nr_labels = 0;
	seen.is_negative = seen.is_set = false;
	while (linter_next(linter, &wire, &inner)) {
		if (inner.number == 1)
			lint_stack(linter, &inner, &seen);
		else if (inner.number == 2)
			lint_values(linter, &inner, &seen);
		else if (inner.number == 3)
			lint_sample_label(linter, &inner, &seen);
	}
	judge_sample(linter, &seen, field->tag);
}
