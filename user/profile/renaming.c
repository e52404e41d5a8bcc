// SPDX-License-Identifier: BSD-2-Clause
/*
 * Gives code in a profile its name, source file, lines and inlined functions after the fact.
 *
 * Whether a name is a symbol, its system_name tells: cprof leaves it empty where it made the name up. Other producers leave
 * it empty for symbols too, so in their profiles only "libfoo.so.6+0x1234" of code in libfoo.so.6 counts as made up.
 *
 * The frames of a location are taken as a whole or not at all: the lines of one chain do not fit the functions of another.
 */
#include "profile/renaming.h"

#include <string.h>

#include "base/text.h"

#define MAX_COMMENTS 64 /* that are looked at: a hostile profile has millions */

static const char deleted[] = " (deleted)";
static const char guessed[] = " [guessed]";

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), len_end = strlen(end);

	return len >= len_end && !strcmp(text + len - len_end, end);
}

static const char *string(const struct profile *profile, uint32_t id)
{
	return strtab_get(&profile->strings, id);
}

/* What a location lacks ---------------------------------------------------------------------------- */

static const struct profile_function *function_of(const struct profile *profile,
						  const struct profile_line *line)
{
	return line->function && line->function <= profile->functions.nr
		       ? &profile->functions.at[line->function - 1]
		       : NULL;
}

/* The function whose code the location is, not one that was inlined there. NULL: the location has none. */
static const struct profile_function *outer_function(const struct profile *profile,
						     const struct profile_location *location)
{
	return location->nr_lines ? function_of(profile, &location->lines[location->nr_lines - 1])
				  : NULL;
}

/* "libfoo.so.6+0x1234", of code in libfoo.so.6. */
static bool is_file_and_number(const char *name, const char *path)
{
	const char *file = text_base_name(path);
	size_t len = strlen(file), digits;

	if (ends_with(file, deleted) && strncmp(name, file, len) != 0)
		len -= sizeof(deleted) - 1;
	if (!len || strncmp(name, file, len) != 0 || strncmp(name + len, "+0x", 3) != 0)
		return false;
	name += len + 3;
	digits = strspn(name, "0123456789abcdef");
	return digits && (!name[digits] || !strcmp(name + digits, guessed));
}

static bool is_of_cprof(const struct profile *profile)
{
	for (size_t i = 0; i < profile->comments.nr && i < MAX_COMMENTS; i++)
		if (!strncmp(string(profile, profile->comments.at[i]), "cprof ", 6))
			return true;
	return false;
}

static bool is_made_up(const struct profile *profile, const struct profile_function *function,
		       const struct profile_mapping *mapping)
{
	if (function->system_name)
		return false;
	return is_file_and_number(string(profile, function->name),
				  string(profile, mapping->path)) ||
	       is_of_cprof(profile);
}

static bool has_line(const struct profile_location *location)
{
	for (uint32_t i = 0; i < location->nr_lines; i++)
		if (location->lines[i].line)
			return true;
	return false;
}

unsigned int renaming_needs(const struct profile *profile, const struct profile_location *location)
{
	const struct profile_function *function = outer_function(profile, location);
	const struct profile_mapping *mapping;
	unsigned int need = 0;

	if (!location->mapping || !location->address)
		return 0;
	mapping = &profile->mappings.at[location->mapping - 1];
	if (!function || !function->name)
		need |= RENAMING_NAME | RENAMING_SYMBOL;
	else if (is_made_up(profile, function, mapping))
		need |= RENAMING_SYMBOL;
	if (!has_line(location))
		need |= RENAMING_LINES;
	if (location->nr_lines <= 1 && !mapping->has_inline_frames)
		need |= RENAMING_INLINES;
	return need;
}

/* What it gets ------------------------------------------------------------------------------------- */

static bool have_line(const struct renaming_frame *frames, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (frames[i].line)
			return true;
	return false;
}

static struct profile_function new_function(struct profile *profile,
					    const struct renaming_frame *frame)
{
	return (struct profile_function){.name = profile_string(profile, frame->name),
					 .system_name = profile_string(profile, frame->system_name),
					 .path = profile_string(profile, frame->path),
					 .start_line = frame->start_line};
}

/* A name that was reached by guess stays marked so. */
static void take_symbol(struct profile *profile, const struct renaming_frame *frame,
			struct profile_function *function)
{
	bool is_guessed = ends_with(string(profile, function->name), guessed);
	char *name scoped(freep) = xasprintf("%s%s", frame->name, is_guessed ? guessed : "");

	function->name = profile_string(profile, name);
	function->system_name = profile_string(profile, frame->system_name);
}

/* What the location keeps of its own chain, with a better function at its end. */
static void take_function(struct profile *profile, struct profile_location *location,
			  const struct profile_function *function)
{
	uint32_t nr = location->nr_lines ? location->nr_lines : 1;
	struct profile_line *lines = arena_alloc(&profile->arena, nr * sizeof(*lines));

	*lines = (struct profile_line){0};
	if (location->nr_lines)
		memcpy(lines, location->lines, nr * sizeof(*lines));
	lines[nr - 1].function = profile_function_id(profile, function);
	location->lines = lines;
	location->nr_lines = nr;
}

/* The whole chain, but for the outermost function. */
static void take_chain(struct profile *profile, struct profile_location *location,
		       const struct renaming_frame *frames, uint32_t nr,
		       const struct profile_function *outermost)
{
	struct profile_line *lines = arena_alloc(&profile->arena, nr * sizeof(*lines));

	for (uint32_t i = 0; i < nr; i++) {
		struct profile_function function = new_function(profile, &frames[i]);

		if (i + 1 == nr) {
			function.name = outermost->name;
			function.system_name = outermost->system_name;
		}
		lines[i] =
			(struct profile_line){.function = profile_function_id(profile, &function),
					      .line = frames[i].line};
	}
	location->lines = lines;
	location->nr_lines = nr;
}

unsigned int renaming_apply(struct profile *profile, struct profile_location *location,
			    const struct renaming_frame *frames, uint32_t nr)
{
	const struct renaming_frame *outermost = &frames[nr - 1];
	const struct profile_function *old = outer_function(profile, location);
	unsigned int need = renaming_needs(profile, location), got = 0;
	struct profile_function function = old ? *old : (struct profile_function){0};

	if (need & RENAMING_SYMBOL && *outermost->system_name) {
		take_symbol(profile, outermost, &function);
		got |= need & (RENAMING_NAME | RENAMING_SYMBOL);
	} else if (need & RENAMING_NAME) {
		function.name = profile_string(profile, outermost->name);
		got |= RENAMING_NAME;
	}
	if (have_line(frames, nr) && nr >= location->nr_lines &&
	    (need & RENAMING_LINES || nr > location->nr_lines)) {
		got |= need & RENAMING_LINES;
		got |= nr > 1 ? need & RENAMING_INLINES : 0;
		take_chain(profile, location, frames, nr, &function);
	} else if (got) {
		take_function(profile, location, &function);
	}
	return got;
}

/* The end ------------------------------------------------------------------------------------------ */

static void note_location(struct profile *profile, const struct profile_location *location)
{
	struct profile_mapping *mapping = &profile->mappings.at[location->mapping - 1];
	const struct profile_function *outermost = outer_function(profile, location);

	mapping->has_functions &= outermost && outermost->name;
	mapping->has_line_numbers |= has_line(location);
	mapping->has_inline_frames |= location->nr_lines > 1;
	for (uint32_t i = 0; i < location->nr_lines; i++) {
		const struct profile_function *function = function_of(profile, &location->lines[i]);

		mapping->has_filenames |= function && function->path;
	}
}

static void set_flags(struct profile *profile)
{
	for (size_t i = 0; i < profile->locations.nr; i++)
		if (profile->locations.at[i].mapping)
			profile->mappings.at[profile->locations.at[i].mapping - 1].has_functions =
				true;
	for (size_t i = 0; i < profile->locations.nr; i++)
		if (profile->locations.at[i].mapping)
			note_location(profile, &profile->locations.at[i]);
}

/* ids: the new ids of functions by old id - 1, 0 where it has none yet. */
static void renumber(struct profile *profile, struct profile_location *location,
		     const struct profile_function *old, size_t nr_old, uint32_t *ids)
{
	struct profile_line *lines =
		arena_alloc(&profile->arena, location->nr_lines * sizeof(*lines));

	memcpy(lines, location->lines, location->nr_lines * sizeof(*lines));
	for (uint32_t i = 0; i < location->nr_lines; i++) {
		uint32_t id = lines[i].function;

		if (!id || id > nr_old)
			continue;
		if (!ids[id - 1])
			ids[id - 1] = profile_function_id(profile, &old[id - 1]);
		lines[i].function = ids[id - 1];
	}
	location->lines = lines;
}

/* What a file had and what was added may be equal: each function is entered anew, if a location has it. */
static void renumber_functions(struct profile *profile)
{
	size_t nr = profile->functions.nr;
	struct profile_function *old scoped(freep) = xcalloc(nr + 1, sizeof(*old));
	uint32_t *ids scoped(freep) = xcalloc(nr + 1, sizeof(*ids));

	if (nr)
		memcpy(old, profile->functions.at, nr * sizeof(*old));
	profile->functions.nr = 0;
	hash_release(&profile->function_index);
	vec_for_each(&profile->locations, location)
		if (location->nr_lines)
			renumber(profile, location, old, nr, ids);
}

void renaming_finish(struct profile *profile)
{
	set_flags(profile);
	renumber_functions(profile);
	profile_forget_interned(profile);
}
