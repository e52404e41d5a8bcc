// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frames are interned in one hash table for all profiles added. Its key is the name and, unless
 * profiles are compared by name, the base names of the source file and of the mapping: paths
 * differ between machines where the code is the same.
 *
 * What kind of code a frame is (enum frame_kind) is guessed from its name and from the path of its
 * mapping: profile.proto has no field for it, and profiles of other tools get the same colours
 * this way.
 */
#include "profile/callframe.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/identity.h"

void callframes_release(struct callframes *frames)
{
	vec_release(frames);
	strtab_release(&frames->strings);
	hash_release(&frames->index);
}

const char *callframe_base_name(const char *path, size_t *len_bytes)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t len = strlen(base);

	/* Code that has no file, "/dev/[zero]" (record/filemap.h); and a file's unnamed code in older profiles. */
	if (slash && len > 2 && base[0] == '[' && base[len - 1] == ']') {
		base++;
		len -= 2;
	}
	*len_bytes = len;
	return base;
}

static bool starts_with(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool ends_with(const char *s, const char *with)
{
	size_t len = strlen(s), nr = strlen(with);

	return len >= nr && !strcmp(s + len - nr, with);
}

/* "libc.so.6+0x1234" */
static bool is_unnamed(const char *name)
{
	const char *plus = strrchr(name, '+');

	return plus && starts_with(plus, "+0x") && plus[3] &&
	       !plus[3 + strspn(plus + 3, "0123456789abcdef")];
}

static bool is_kernel(const char *mapping)
{
	return starts_with(mapping, "[kernel") || starts_with(mapping, "[guest.kernel") ||
	       strstr(mapping, "/lib/modules/") || ends_with(mapping, "/vmlinux") ||
	       ends_with(mapping, ".ko");
}

static enum frame_kind where_of(const char *mapping)
{
	size_t len;
	const char *file = callframe_base_name(mapping, &len);

	if (is_kernel(mapping))
		return FRAME_KERNEL;
	if (!strcmp(mapping, "//anon") || starts_with(file, "perf-") ||
	    starts_with(mapping, "/memfd:"))
		return FRAME_JIT;
	if (strstr(file, ".so.") || ends_with(file, ".so") || ends_with(file, ".so]") ||
	    starts_with(file, "ld-") || !strcmp(mapping, "[vdso]"))
		return FRAME_LIBRARY;
	return FRAME_PROGRAM;
}

/* "[libc.so]": all code of a file that has no names (profile/identity.h). */
static bool is_its_file(const char *name, const char *mapping)
{
	char *file scoped(freep) = identity_file_of_path(mapping);

	return !strcmp(name, file);
}

static enum frame_kind kind_of(const char *name, const char *mapping)
{
	enum frame_kind where = where_of(mapping);

	if (!strcmp(mapping, "[cprof]"))
		return FRAME_NOTE;
	if (*name == '[' && ends_with(name, "]"))
		return is_its_file(name, mapping) ? FRAME_UNNAMED : FRAME_NOTE;
	if (ends_with(name, " [guessed]"))
		return FRAME_GUESSED;
	return where != FRAME_KERNEL && is_unnamed(name) ? FRAME_UNNAMED : where;
}

struct frame_key {
	const char *name, *path, *mapping;
};

static bool same_base_name(const char *a, const char *b)
{
	size_t len_a, len_b;

	a = callframe_base_name(a, &len_a);
	b = callframe_base_name(b, &len_b);
	return len_a == len_b && !memcmp(a, b, len_a);
}

static bool same_frame(const void *ctx, uint32_t value, const void *key)
{
	const struct callframes *frames = ctx;
	const struct callframe *frame = &frames->at[value];
	const struct frame_key *wanted = key;

	if (strcmp(strtab_get(&frames->strings, frame->name), wanted->name))
		return false;
	return frames->by_name ||
	       (same_base_name(strtab_get(&frames->strings, frame->path), wanted->path) &&
		same_base_name(strtab_get(&frames->strings, frame->mapping), wanted->mapping));
}

static uint64_t frame_code(const struct frame_key *key, bool by_name)
{
	uint64_t code = hash_bytes(key->name, strlen(key->name), 0);
	const char *parts[] = {key->path, key->mapping};

	for (size_t i = 0; i < 2 && !by_name; i++) {
		size_t len;
		const char *base = callframe_base_name(parts[i], &len);

		code = hash_bytes(base, len, code);
	}
	return code;
}

static uint32_t frame_id(struct callframes *frames, const struct frame_key *key)
{
	uint64_t code = frame_code(key, frames->by_name);
	uint32_t id = hash_find(&frames->index, code, same_frame, frames, key);

	if (id != HASH_NONE)
		return id;
	id = frames->nr;
	vec_push(frames, (struct callframe){
				 .name = strtab_intern(&frames->strings, key->name),
				 .path = strtab_intern(&frames->strings, key->path),
				 .mapping = strtab_intern(&frames->strings, key->mapping),
				 .kind = kind_of(key->name, key->mapping),
				 .where = where_of(key->mapping),
			 });
	hash_insert(&frames->index, code, id);
	return id;
}

uint32_t callframes_note(struct callframes *frames, const char *text)
{
	return frame_id(frames, &(struct frame_key){text, "", "[cprof]"});
}

static void seen_at(struct callframe *frame, int64_t line, bool inlined)
{
	if (line > 0 && (!frame->first_line || line < frame->first_line))
		frame->first_line = line;
	if (line > frame->last_line)
		frame->last_line = line;
	frame->inlined |= inlined;
	frame->called |= !inlined;
}

void callframe_places_release(struct callframe_places *places)
{
	vec_release(&places->frames);
	vec_release(&places->starts);
}

static const char *mapping_path(const struct profile *profile, uint32_t id)
{
	return id && id <= profile->mappings.nr
		       ? strtab_get(&profile->strings, profile->mappings.at[id - 1].path)
		       : "";
}

/* "[libc.so.6]": all that is known of a location without a line. */
static uint32_t mapping_frame(struct callframes *frames, const char *mapping)
{
	size_t len;
	const char *base = callframe_base_name(mapping, &len);
	bool is_bracketed = *base == '[';
	char *name scoped(freep) = xasprintf(is_bracketed ? "%.*s" : "[%.*s]", len ? (int)len : 7,
					     len ? base : "unknown");
	uint32_t id = frame_id(frames, &(struct frame_key){name, "", mapping});

	frames->at[id].kind = is_kernel(mapping) ? FRAME_KERNEL : FRAME_UNNAMED; /* no note */
	return id;
}

static void place_location(struct callframes *frames, const struct profile *profile,
			   const struct profile_location *location, struct callframe_places *places)
{
	const char *mapping = mapping_path(profile, location->mapping);

	for (uint32_t i = 0; i < location->nr_lines; i++) {
		const struct profile_line *line = &location->lines[i];
		const struct profile_function *function;
		uint32_t name, id;

		if (!line->function || line->function > profile->functions.nr)
			continue;
		function = &profile->functions.at[line->function - 1];
		name = function->name ? function->name : function->system_name;
		if (!name)
			continue;
		id = frame_id(frames,
			      &(struct frame_key){strtab_get(&profile->strings, name),
						  strtab_get(&profile->strings, function->path),
						  mapping});
		seen_at(&frames->at[id], line->line, i + 1 < location->nr_lines);
		vec_push(&places->frames, id);
	}
	if (places->frames.nr == places->starts.at[places->starts.nr - 1])
		vec_push(&places->frames, mapping_frame(frames, mapping));
}

void callframes_add(struct callframes *frames, const struct profile *profile,
		    struct callframe_places *places)
{
	vec_push(&places->starts, 0);
	vec_for_each(&profile->locations, location) {
		place_location(frames, profile, location, places);
		vec_push(&places->starts, places->frames.nr);
	}
}
