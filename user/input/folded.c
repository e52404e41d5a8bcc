// SPDX-License-Identifier: BSD-2-Clause
/*
 * A line is read from its end: the count behind the last space, then frames by the last ';'. Names
 * may hold spaces, but no ';' (output/folded.h escapes it). Frames are interned in the profile, in
 * one mapping without a name, and equal stacks are added up.
 */
#include "input/folded.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "input/lines.h"

#define MAX_DEPTH      65536
#define MAX_TYPE_BYTES 64

/* Parts the stack from its count. */
static bool take_count(struct text *line, int64_t *count)
{
	struct text trimmed = text_trim(*line), number;
	const char *space = memrchr(trimmed.at, ' ', trimmed.len);

	if (!space)
		return false;
	number = (struct text){space + 1, trimmed.at + trimmed.len - space - 1};
	if (!text_take_int(&number, count) || number.len)
		return false;
	*line = text_trim((struct text){trimmed.at, space - trimmed.at});
	return line->len;
}

/* Text has no control characters but tabs. */
static bool is_text(struct text line)
{
	for (size_t i = 0; i < line.len; i++)
		if (iscntrl((unsigned char)line.at[i]) && line.at[i] != '\t')
			return false;
	return true;
}

bool folded_detect(const struct source *source)
{
	struct text line = input_first_line(source);
	int64_t count;

	return is_text(line) && take_count(&line, &count);
}

static uint32_t frame_id(struct profile *profile, struct text name)
{
	struct profile_mapping mapping = {.limit = UINT64_MAX, .has_functions = true};
	struct profile_function function = {0};
	struct profile_line line = {0};
	struct profile_location location = {.lines = &line, .nr_lines = 1};

	name = text_trim(name);
	function.name = name.len ? input_string(profile, name.at, name.len)
				 : profile_string(profile, "[unknown]");
	function.system_name = function.name;
	line.function = profile_function_id(profile, &function);
	location.mapping = profile_mapping_id(profile, &mapping);
	return profile_location_id(profile, &location);
}

typedef vec_of(uint32_t) location_ids;

/* Takes the frames from the leaf, which is last. false: the stack is too deep. */
static bool take_frames(struct profile *profile, struct text stack, location_ids *ids)
{
	const char *semicolon;

	ids->nr = 0;
	do {
		struct text name = stack;
		uint32_t id;

		semicolon = memrchr(stack.at, ';', stack.len);
		if (semicolon) {
			name = (struct text){semicolon + 1, stack.at + stack.len - semicolon - 1};
			stack.len = semicolon - stack.at;
		}
		if (ids->nr == MAX_DEPTH)
			return false;
		id = frame_id(profile, name);
		vec_push(ids, id);
	} while (semicolon);
	return true;
}

static int read_line(const struct source *source, struct profile *profile,
		     const struct lines *lines, location_ids *ids, struct input_error *error)
{
	struct text stack = lines->line;
	int64_t count;
	struct profile_sample sample = {.values = &count};

	if (!take_count(&stack, &count))
		return input_fail_text(error, lines, "expected a stack and a whole number");
	if (!take_frames(profile, stack, ids) || profile->samples.nr >= source->limits->max_items ||
	    profile->locations.nr > source->limits->max_items)
		return input_fail_line(error, -EFBIG, lines->nr, "too many samples or frames");
	sample.locations = ids->at;
	sample.nr_locations = ids->nr;
	profile_add_sample(profile, &sample);
	return 0;
}

static bool take_name(struct text *text, char name[MAX_TYPE_BYTES])
{
	size_t nr = 0;

	while (nr < text->len && (isalnum((unsigned char)text->at[nr]) || text->at[nr] == '_'))
		nr++;
	if (!nr || nr >= MAX_TYPE_BYTES)
		return false;
	snprintf(name, MAX_TYPE_BYTES, "%.*s", (int)nr, text->at);
	*text = (struct text){text->at + nr, text->len - nr};
	return true;
}

/* "# cprof: cpu/nanoseconds 0": what the numbers of all lines are. */
static void take_type(struct profile *profile, struct text comment)
{
	char type[MAX_TYPE_BYTES], unit[MAX_TYPE_BYTES];

	if (!text_take_word(&comment, "# cprof: ") || !take_name(&comment, type) ||
	    !text_take(&comment, '/') || !take_name(&comment, unit) ||
	    !text_equals(text_trim(comment), "0"))
		return;
	profile->types[0].type = profile_string(profile, type);
	profile->types[0].unit = profile_string(profile, unit);
	profile_set_period(profile, type, unit, 1);
}

int folded_read(const struct source *source, struct profile *profile, struct input_error *error)
{
	struct lines lines = input_lines(source);
	location_ids ids = {0};
	struct text line;
	int err = 0;

	profile_add_type(profile, "samples", "count");
	profile_set_period(profile, "samples", "count", 1);
	while (!err && lines_next(&lines, &line)) {
		if (text_is_comment(line))
			take_type(profile, line);
		else
			err = read_line(source, profile, &lines, &ids, error);
	}
	vec_release(&ids);
	return err;
}
