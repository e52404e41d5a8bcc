// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the list of places behind the samples of a Java program's profile: what the numbers in its
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

struct place {
	struct text function, file;
	int64_t line;
};

/* Functions go by their names alone: the file is that of the first place. */
struct java_function {
	uint32_t name, file; /* strings */
};

struct places {
	struct profile *profile;
	struct addresses *addresses;
	vec_of(struct java_function) functions;
	struct hash by_name; /* positions in functions */
	/* Of each location: 1 + the position of its function, 0: none; its line. */
	struct {
		uint32_t function;
		int64_t line;
	} * of;
};

static void places_release(struct places *places)
{
	vec_release(&places->functions);
	hash_release(&places->by_name);
	free(places->of);
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
static bool take_file_line(struct text text, struct place *place)
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
	place->function = (struct text){text.at, open - 1 - text.at};
	place->file = (struct text){open + 1, digits - 1 - (open + 1)};
	if (*digits == '-' || !text_take_int(&number, &place->line))
		place->line = 0;
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
static bool take_path(struct text text, struct place *place)
{
	const char *end = text.at + text.len - 1;
	const char *open = *end == ')' ? last_opening(text, end) : NULL;

	if (!open)
		return false;
	place->function = (struct text){text.at, open - 1 - text.at};
	place->file = base_of((struct text){open + 1, end - open - 1});
	return true;
}

static struct place place_of(struct text text)
{
	struct place place = {.function = text, .file = {"", 0}};

	if (take_file_line(text, &place) || take_path(text, &place))
		return place;
	if (text_find(text, "generated stub/JIT"))
		place.function = (struct text){"STUB", 4};
	return place; /* the whole is a name: "GC", "VM" */
}

static bool same_name(const void *ctx, uint32_t value, const void *key)
{
	const struct places *places = ctx;

	return places->functions.at[value].name == *(const uint32_t *)key;
}

static uint32_t function_position(struct places *places, const struct place *place)
{
	uint32_t name = input_string(places->profile, place->function.at, place->function.len);
	uint64_t code = hash_u64(name);
	uint32_t i = hash_find(&places->by_name, code, same_name, places, &name);

	if (i != HASH_NONE)
		return i;
	i = places->functions.nr;
	vec_push(&places->functions,
		 (struct java_function){
			 name, input_string(places->profile, place->file.at, place->file.len)});
	hash_insert(&places->by_name, code, i);
	return i;
}

/* "0x0000003 com.example.f (source.java:3)"; any other line is skipped. */
static int read_place(struct legacy *legacy, struct places *places, struct text line)
{
	struct text digits;
	struct place place;
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
	id = addresses_location(places->addresses, number);
	if (!id)
		return 0;
	text_skip_spaces(&line);
	place = place_of(line);
	places->of[id - 1].function = function_position(places, &place) + 1;
	places->of[id - 1].line = place.line;
	return 0;
}

static void name_location(struct places *places, struct profile_location *location, size_t i,
			  uint32_t *nameless)
{
	struct profile *profile = places->profile;
	struct profile_line *line;
	const struct java_function *function;

	if (!places->of[i].function) {
		if (location->address && !*nameless) {
			vec_push(&profile->mappings, (struct profile_mapping){.limit = UINT64_MAX});
			*nameless = profile->mappings.nr;
		}
		location->mapping = location->address ? *nameless : 0;
		return;
	}
	function = &places->functions.at[places->of[i].function - 1];
	line = arena_alloc(&profile->arena, sizeof(*line));
	*line = (struct profile_line){
		.function = profile_function_id(profile,
						&(struct profile_function){
							.name = function->name,
							.system_name = function->name,
							.path = function->file,
						}),
		.line = places->of[i].line,
	};
	location->lines = line;
	location->nr_lines = 1;
}

int legacy_java_places(struct legacy *legacy, enum legacy_kind kind)
{
	struct profile *profile = legacy->addresses.profile;
	struct places places scoped(places_release) = {.profile = profile,
						       .addresses = &legacy->addresses};
	uint32_t nameless = 0;
	struct text line;
	int err = 0;

	addresses_make_samples(&legacy->addresses);
	places.of = xcalloc(profile->locations.nr + 1, sizeof(*places.of));
	while (!err && lines_next(&legacy->lines, &line))
		err = read_place(legacy, &places, line);
	if (err)
		return err;
	for (size_t i = 0; i < profile->locations.nr; i++)
		name_location(&places, &profile->locations.at[i], i, &nameless);
	vec_for_each(&profile->locations, location)
		location->address = 0;
	legacy_drop_frames(profile, kind);
	return 0;
}
