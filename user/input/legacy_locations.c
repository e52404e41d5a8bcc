// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the list of locations after the samples of a Java program's profile: what the numbers in its
 * stacks stand for.
 *
 *	0x0000003 com.example.f (source.java:3)		a function, its file, its line
 *	0x0000004 Gen::g (/usr/lib/libjvm.so)		a function of a library
 *	0x0000005 generated stub/JIT
 *	0x0000006 GC					a state of the VM
 *
 * Source: pprof's profile/legacy_java_profile.go.
 */
#include "input/legacy.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct java_location {
	struct text function, file;
	int64_t line;
};

/* Functions go by their names alone: the file is that of the first location. */
struct java_function {
	uint32_t name, file; /* strings */
};

struct java_locations {
	struct profile *profile;
	struct addresses *addresses;
	vec_of(struct java_function) functions;
	struct hash by_name; /* positions in functions */
	/* by location: 1 + the position of its function, 0: none; its line */
	struct {
		uint32_t function;
		int64_t line;
	} * of;
};

static void java_locations_release(struct java_locations *locations)
{
	vec_release(&locations->functions);
	hash_release(&locations->by_name);
	free(locations->of);
}

/* The last '(' behind white space, before end; NULL: there is none. */
static const char *last_opening(struct text text, const char *end)
{
	for (const char *at = end; --at > text.at;)
		if (*at == '(' && isspace((unsigned char)at[-1]))
			return at;
	return NULL;
}

/* "function (file:line)" */
static bool take_file_line(struct text text, struct java_location *parsed)
{
	const char *end = text.at + text.len - 1, *digits = end, *open;
	struct text number;

	while (digits > text.at && isdigit((unsigned char)digits[-1]))
		digits--;
	if (*end != ')' || digits == end)
		return false;
	number = (struct text){digits, end - digits};
	if (digits > text.at && digits[-1] == '-')
		digits--;
	if (digits == text.at || digits[-1] != ':' || digits - text.at < 3)
		return false;
	open = last_opening(text, digits - 2); /* the file's name is not empty */
	if (!open)
		return false;
	parsed->function = (struct text){text.at, open - 1 - text.at};
	parsed->file = (struct text){open + 1, digits - 1 - (open + 1)};
	if (*digits == '-' || !text_take_int(&number, &parsed->line))
		parsed->line = 0;
	return true;
}

/* The last part of a path, as Go's filepath.Base() has it. */
static struct text base_of(struct text path)
{
	const char *slash;

	if (!path.len)
		return (struct text){".", 1};
	while (path.len > 1 && path.at[path.len - 1] == '/')
		path.len--;
	slash = memrchr(path.at, '/', path.len);
	if (!slash || path.len == 1)
		return path;
	return (struct text){slash + 1, path.at + path.len - slash - 1};
}

/* "function (/path/of/a/library.so)" */
static bool take_path(struct text text, struct java_location *parsed)
{
	const char *end = text.at + text.len - 1;
	const char *open = *end == ')' ? last_opening(text, end) : NULL;

	if (!open)
		return false;
	parsed->function = (struct text){text.at, open - 1 - text.at};
	parsed->file = base_of((struct text){open + 1, end - open - 1});
	return true;
}

static struct java_location location_of(struct text text)
{
	struct java_location parsed = {.function = text, .file = {"", 0}};

	if (take_file_line(text, &parsed) || take_path(text, &parsed))
		return parsed;
	if (text_find(text, "generated stub/JIT"))
		parsed.function = (struct text){"STUB", 4};
	return parsed; /* the whole is a name: "GC", "VM" */
}

static bool same_name(const void *ctx, uint32_t value, const void *key)
{
	const struct java_locations *locations = ctx;

	return locations->functions.at[value].name == *(const uint32_t *)key;
}

static uint32_t function_position(struct java_locations *locations,
				  const struct java_location *parsed)
{
	uint32_t name = input_string(locations->profile, parsed->function.at, parsed->function.len);
	uint64_t code = hash_u64(name);
	uint32_t i = hash_find(&locations->by_name, code, same_name, locations, &name);

	if (i != HASH_NONE)
		return i;
	i = locations->functions.nr;
	vec_push(&locations->functions,
		 (struct java_function){name, input_string(locations->profile, parsed->file.at,
							   parsed->file.len)});
	hash_insert(&locations->by_name, code, i);
	return i;
}

/* "0x0000003 com.example.f (source.java:3)"; any other line is skipped. */
static int read_location(struct legacy *legacy, struct java_locations *locations, struct text line)
{
	struct text digits;
	struct java_location parsed;
	uint64_t number;
	uint32_t id;

	line = text_trim(line);
	if (!text_take_word(&line, "0x"))
		return 0;
	digits = line;
	while (line.len && isxdigit((unsigned char)*line.at))
		line.at++, line.len--;
	digits.len = line.at - digits.at;
	if (!digits.len || !line.len || !isspace((unsigned char)*line.at))
		return 0;
	if (!text_take_hex(&digits, &number))
		return input_fail_line(legacy->error, -EBADMSG, legacy->lines.nr,
				       "a location has more than 64 bits");
	id = addresses_location(locations->addresses, number);
	if (!id)
		return 0;
	text_skip_spaces(&line);
	parsed = location_of(line);
	locations->of[id - 1].function = function_position(locations, &parsed) + 1;
	locations->of[id - 1].line = parsed.line;
	return 0;
}

static void name_location(struct java_locations *locations, struct profile_location *location,
			  size_t i, uint32_t *nameless)
{
	struct profile *profile = locations->profile;
	struct profile_line *line;
	const struct java_function *function;

	if (!locations->of[i].function) {
		if (location->address && !*nameless) {
			vec_push(&profile->mappings, (struct profile_mapping){.limit = UINT64_MAX});
			*nameless = profile->mappings.nr;
		}
		location->mapping = location->address ? *nameless : 0;
		return;
	}
	function = &locations->functions.at[locations->of[i].function - 1];
	line = arena_alloc(&profile->arena, sizeof(*line));
	*line = (struct profile_line){
		.function = profile_function_id(profile,
						&(struct profile_function){
							.name = function->name,
							.system_name = function->name,
							.path = function->file,
						}),
		.line = locations->of[i].line,
	};
	location->lines = line;
	location->nr_lines = 1;
}

int legacy_java_locations(struct legacy *legacy, enum legacy_kind kind)
{
	struct profile *profile = legacy->addresses.profile;
	struct java_locations locations scoped(java_locations_release) = {
		.profile = profile, .addresses = &legacy->addresses};
	uint32_t nameless = 0;
	struct text line;
	int err = 0;

	addresses_make_samples(&legacy->addresses);
	locations.of = xcalloc(profile->locations.nr + 1, sizeof(*locations.of));
	while (!err && lines_next(&legacy->lines, &line))
		err = read_location(legacy, &locations, line);
	if (err)
		return err;
	for (size_t i = 0; i < profile->locations.nr; i++)
		name_location(&locations, &profile->locations.at[i], i, &nameless);
	vec_for_each(&profile->locations, location)
		location->address = 0;
	legacy_drop_frames(profile, kind);
	return 0;
}
