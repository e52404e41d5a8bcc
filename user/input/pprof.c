// SPDX-License-Identifier: BSD-2-Clause
/*
 * A profile.proto file is one message of repeated messages that refer to one another by ids and by
 * positions in a string table, which stands last as a rule. So nothing can be understood in one go:
 *
 *	count	  every item of every kind, and the stretch of the file each kind lies in
 *	--------  here it is known what the profile will take in memory, and whether that is too much
 *	strings	  file's position -> id in the profile's string table
 *	tables	  sample types, mappings, functions: their ids -> 1..N in the order of the file
 *	locations with their lines, then
 *	samples	  with their locations, values and labels
 *
 * Each later walk goes over its own kind's stretch only, and writers put a kind together, so that the
 * file is read twice in all; the samples, if they are many, by two threads (pprof_sample.c). The arrays
 * that samples and locations point into are one arena block a kind, sized by the count; a varint ends
 * with a byte below 0x80, so that counting packed numbers is counting bytes.
 *
 * What a hostile file of n inflated bytes can make of itself is about 13 n (distinct short strings,
 * labels), because the smallest item is 2 bytes, and gunzip.c bounds n.
 *
 * Alternatives rejected: protobuf-c's unpack (see wire.h); growing arrays in one walk, with ids
 * resolved after it: it costs as much as counting and holds every array twice.
 */
#include "input/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "input/pprof_reader.h"

/* pprof_for_rest() from item 0 on. */
static int for_each(struct pprof_reader *reader, enum pprof_kind kind, pprof_field_fn fn)
{
	reader->kind = kind;
	reader->item = 0;
	return pprof_for_rest(reader, kind, fn);
}

static int read_string(struct pprof_reader *reader, const struct wire_field *field)
{
	size_t len = field->body.end - field->body.at;

	if (!reader->item && len)
		return pprof_broken_at(reader, field->tag, "it must be empty, but is \"%.*s\"",
				       (int)(len < 40 ? len : 40), (const char *)field->body.at);
	reader->strings[reader->item] = input_string(reader->profile, field->body.at, len);
	return 0;
}

static int read_value_type(const struct pprof_reader *reader, const struct wire_field *field,
			   struct value_type *type)
{
	uint64_t numbers[3] = {0};
	const uint8_t *at = field->tag;

	if (pprof_read_numbers(reader, field->body, numbers, 3) ||
	    pprof_to_string(reader, at, "its type", numbers[1], &type->type) ||
	    pprof_to_string(reader, at, "its unit", numbers[2], &type->unit))
		return -EBADMSG;
	return 0;
}

static int read_type(struct pprof_reader *reader, const struct wire_field *field)
{
	return read_value_type(reader, field, &reader->profile->types[reader->item]);
}

/* Ids of every kind: not 0, and each once. */
static int add_id(struct pprof_reader *reader, struct idmap *map, uint64_t id, const uint8_t *at)
{
	if (!id)
		return pprof_broken_at(reader, at, "its id is 0");
	if (!idmap_add(map, id, reader->item + 1))
		return pprof_broken_at(reader, at, "its id %" PRIu64 " is not unique", id);
	return 0;
}

static int read_mapping(struct pprof_reader *reader, const struct wire_field *field)
{
	struct profile_mapping *mapping = &reader->profile->mappings.at[reader->item];
	uint64_t numbers[11] = {0};
	const uint8_t *at = field->tag;

	if (pprof_read_numbers(reader, field->body, numbers, 11) ||
	    pprof_to_string(reader, at, "its filename", numbers[5], &mapping->path) ||
	    pprof_to_string(reader, at, "its build id", numbers[6], &mapping->build_id) ||
	    add_id(reader, &reader->mappings, numbers[1], at))
		return -EBADMSG;
	mapping->start = numbers[2];
	mapping->limit = numbers[3];
	mapping->file_off = numbers[4];
	mapping->has_functions = numbers[7];
	mapping->has_filenames = numbers[8];
	mapping->has_line_numbers = numbers[9];
	mapping->has_inline_frames = numbers[10];
	return 0;
}

static int read_function(struct pprof_reader *reader, const struct wire_field *field)
{
	struct profile_function *function = &reader->profile->functions.at[reader->item];
	uint64_t numbers[6] = {0};
	const uint8_t *at = field->tag;

	if (pprof_read_numbers(reader, field->body, numbers, 6) ||
	    pprof_to_string(reader, at, "its name", numbers[2], &function->name) ||
	    pprof_to_string(reader, at, "its system name", numbers[3], &function->system_name) ||
	    pprof_to_string(reader, at, "its filename", numbers[4], &function->path) ||
	    add_id(reader, &reader->functions, numbers[1], at))
		return -EBADMSG;
	function->start_line = numbers[5];
	return 0;
}

static int read_line(struct pprof_reader *reader, const struct wire_field *field)
{
	struct profile_line *line = reader->lines;
	uint64_t numbers[4] = {0};

	if (pprof_read_numbers(reader, field->body, numbers, 4))
		return -EBADMSG;
	line->function = idmap_get(&reader->functions, numbers[1]);
	if (!line->function)
		return pprof_broken_at(reader, field->tag,
				       "it refers to function %" PRIu64 ", which does not exist",
				       numbers[1]);
	line->line = numbers[2];
	line->column = numbers[3];
	reader->lines++;
	return 0;
}

static int read_location(struct pprof_reader *reader, const struct wire_field *field)
{
	struct profile_location *location = &reader->profile->locations.at[reader->item];
	struct wire wire = field->body;
	struct wire_field inner;
	uint64_t numbers[6] = {0};

	location->lines = reader->lines;
	while (wire_next(&wire, &inner)) {
		if (!inner.number || inner.number > 5)
			continue;
		if (inner.number == 4 ? read_line(reader, &inner)
				      : pprof_expect_type(reader, &inner, WIRE_VARINT))
			return -EBADMSG;
		numbers[inner.number] = inner.value;
	}
	location->nr_lines = reader->lines - location->lines;
	/* A mapping that is not there is none: pprof, and files of old writers, have it so. */
	location->mapping = idmap_get(&reader->mappings, numbers[2]);
	location->address = numbers[3];
	location->is_folded = numbers[5];
	return add_id(reader, &reader->locations, numbers[1], field->tag);
}

static int read_comments(struct pprof_reader *reader, const struct wire_field *field)
{
	struct wire positions = field->body;
	uint64_t position;
	uint32_t id = 0;

	if (pprof_expect_numbers(reader, field))
		return -EBADMSG;
	while (wire_varint(&positions, &position)) {
		if (pprof_to_string(reader, positions.at, "a comment", position, &id))
			return -EBADMSG;
		vec_push(&reader->profile->comments, id);
	}
	return positions.why ? pprof_broken_wire(reader, &positions) : 0;
}

/* The last of several counts, whatever the others say: they are kept until all have been seen. */
static int read_scalar(struct pprof_reader *reader, const struct wire_field *field)
{
	uint64_t numbers[3];

	if (!field->number || field->number >= NR_PROFILE_FIELDS)
		return 0;
	if (field->number == COMMENT)
		return read_comments(reader, field);
	if (pprof_expect_type(reader, field, field->number == PERIOD_TYPE ? WIRE_LEN : WIRE_VARINT))
		return -EBADMSG;
	reader->scalars[field->number] = *field;
	return field->number == PERIOD_TYPE ? pprof_read_numbers(reader, field->body, numbers, 3)
					    : 0;
}

static int use_scalars(struct pprof_reader *reader)
{
	struct profile *profile = reader->profile;
	const struct wire_field *scalars = reader->scalars;
	const struct {
		int field;
		const char *name;
		uint32_t *id;
	} strings[] = {
		{DROP_FRAMES, "drop_frames", &profile->drop_frames},
		{KEEP_FRAMES, "keep_frames", &profile->keep_frames},
		{DEFAULT_TYPE, "default_sample_type", &profile->default_type},
		{DOC_URL, "doc_url", &profile->doc_url},
	};

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		const struct wire_field *field = &scalars[strings[i].field];

		if (field->tag && pprof_to_string(reader, field->tag, strings[i].name, field->value,
						  strings[i].id))
			return -EBADMSG;
	}
	profile->time_ns = scalars[TIME_NANOS].value;
	profile->duration_ns = scalars[DURATION_NANOS].value;
	profile->period = scalars[PERIOD].value;
	if (!scalars[PERIOD_TYPE].tag)
		return 0;
	return read_value_type(reader, &scalars[PERIOD_TYPE], &profile->period_type);
}

/* Makes an array of a vec, all of it in use and zeroed. */
#define make_full(v, count)                                   \
	do {                                                  \
		(v)->at = xcalloc((count), sizeof(*(v)->at)); \
		(v)->nr = (v)->cap = (count);                 \
	} while (0)

static void make_room(struct pprof_reader *reader)
{
	struct profile *profile = reader->profile;
	const size_t *nr = reader->nr;

	make_full(&profile->mappings, nr[KIND_MAPPING]);
	make_full(&profile->functions, nr[KIND_FUNCTION]);
	make_full(&profile->locations, nr[KIND_LOCATION]);
	make_full(&profile->samples, nr[KIND_SAMPLE]);
	profile->nr_types = nr[KIND_TYPE];
	reader->strings = xcalloc(nr[KIND_STRING], sizeof(*reader->strings));
	reader->lines = arena_alloc(&profile->arena, reader->nr_lines * sizeof(*reader->lines));
	reader->labels = arena_alloc(&profile->arena, reader->nr_labels * sizeof(*reader->labels));
	reader->stack_ids =
		arena_alloc(&profile->arena, reader->nr_stack_ids * sizeof(*reader->stack_ids));
	reader->values = arena_alloc(&profile->arena,
				     nr[KIND_SAMPLE] * nr[KIND_TYPE] * sizeof(*reader->values));
	idmap_init(&reader->mappings, nr[KIND_MAPPING]);
	idmap_init(&reader->functions, nr[KIND_FUNCTION]);
	idmap_init(&reader->locations, nr[KIND_LOCATION]);
}

static void reader_release(struct pprof_reader *reader)
{
	free(reader->strings);
	idmap_release(&reader->mappings);
	idmap_release(&reader->functions);
	idmap_release(&reader->locations);
}

int pprof_read(const struct source *source, struct profile *profile, struct input_error *error)
{
	struct pprof_reader reader scoped(reader_release) = {
		.source = source, .profile = profile, .error = error};
	static const struct {
		enum pprof_kind kind;
		pprof_field_fn read;
	} tables[] = {
		{KIND_STRING, read_string},	{KIND_TYPE, read_type},
		{KIND_MAPPING, read_mapping},	{KIND_FUNCTION, read_function},
		{KIND_LOCATION, read_location},
	};
	int err = pprof_count_all(&reader);

	if (!err)
		err = pprof_check_size(&reader);
	if (err)
		return err;
	make_room(&reader);
	for (size_t i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++)
		err = for_each(&reader, tables[i].kind, tables[i].read);
	if (!err)
		err = pprof_read_samples(&reader);
	if (!err)
		err = for_each(&reader, KIND_SCALAR, read_scalar);
	return err ? err : use_scalars(&reader);
}
