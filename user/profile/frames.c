// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frames are interned by their names: a string table gives the name its id, and id - 1 is the
 * frame's position. That is done once for each line of each location; a walk over samples then
 * only looks up positions (frames_of()).
 *
 * Names are put together as pprof's internal/graph does it (NodeInfo.PrintableName), so that rows
 * can be compared with those of `go tool pprof` as text.
 */
#include "profile/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const by_names[] = {
	[FRAME_BY_FUNCTION] = "function", [FRAME_BY_LINE] = "line",
	[FRAME_BY_FILE] = "file",	  [FRAME_BY_MAPPING] = "mapping",
	[FRAME_BY_ADDRESS] = "address",	  [FRAME_BY_FUNCTION_FILE] = "function_file",
};

int frame_by_name(const char *text, enum frame_by *by)
{
	for (size_t i = 0; i < sizeof(by_names) / sizeof(by_names[0]); i++) {
		if (strcmp(text, by_names[i]))
			continue;
		*by = i;
		return 0;
	}
	return -EINVAL;
}

/*
 * "./a//b/../c.c" is "a/c.c": one file is one frame, however its compiler spells it. By the text alone,
 * as Go's filepath.Clean: nothing is looked up. The result is never longer; out may not be path.
 */
static void clean_path(const char *path, char *out)
{
	bool rooted = *path == '/';
	size_t len = 0, fixed; /* ".." cannot take away the first `fixed` bytes */

	if (rooted)
		out[len++] = '/';
	fixed = len;
	while (*path) {
		size_t part = strcspn(path, "/");
		bool up = part == 2 && !memcmp(path, "..", 2);

		if (up && len > fixed) {
			while (len > fixed && out[len - 1] != '/')
				len--;
			if (len > fixed) /* the '/' before what was taken away */
				len--;
		} else if (part && !(part == 1 && *path == '.') && !(up && rooted)) {
			if (len > rooted)
				out[len++] = '/';
			memcpy(out + len, path, part);
			len += part;
			fixed = up ? len : fixed;
		}
		path += part + (path[part] == '/');
	}
	if (!len)
		out[len++] = '.';
	out[len] = '\0';
}

static const char *cleaned(struct frames *frames, const char *path)
{
	char *out;

	if (!*path || (!strstr(path, "./") && !strstr(path, "//") && !strstr(path, "/.")))
		return path;
	out = arena_alloc(&frames->arena, strlen(path) + 1);
	clean_path(path, out);
	return out;
}

/* What is known of one line of a location, as far as the granularity asks. */
static struct frame frame_of_line(struct frames *frames, enum frame_by by,
				  const struct profile_location *location,
				  const struct profile_line *line)
{
	const struct profile *profile = frames->profile;
	const struct strtab *strings = &profile->strings;
	struct frame frame = {.name = "", .function = "", .file = "", .mapping = ""};
	const struct profile_function *function = NULL;

	if (line && line->function)
		function = &profile->functions.at[line->function - 1];
	if (location->mapping)
		frame.mapping =
			strtab_get(strings, profile->mappings.at[location->mapping - 1].path);
	if (by == FRAME_BY_ADDRESS)
		frame.address = location->address;
	if (by == FRAME_BY_MAPPING || !function)
		return frame;
	if (by != FRAME_BY_FILE)
		frame.function = strtab_get(strings, function->name ? function->name
								    : function->system_name);
	if (by != FRAME_BY_FUNCTION)
		frame.file = cleaned(frames, strtab_get(strings, function->path));
	if (by == FRAME_BY_LINE || by == FRAME_BY_ADDRESS)
		frame.line = line->line;
	if (by == FRAME_BY_ADDRESS)
		frame.column = line->column;
	return frame;
}

/* The name as pprof writes it: the address, the function, then the best there is of where it is. */
static char *name_of(const struct frame *frame, enum frame_by by)
{
	bool is_placed = *frame->file || frame->line;
	const char *gap = *frame->function && is_placed ? " " : "", *base;
	char address[24] = "", line[48] = "";

	if (by == FRAME_BY_MAPPING)
		return xstrdup(*frame->mapping ? frame->mapping : "<unknown>");
	if (frame->address)
		snprintf(address, sizeof(address), "%016" PRIx64 " ", frame->address);
	if (frame->line && frame->column)
		snprintf(line, sizeof(line), ":%" PRId64 ":%" PRId64, frame->line, frame->column);
	else if (frame->line)
		snprintf(line, sizeof(line), ":%" PRId64, frame->line);
	if (*frame->function || *frame->file)
		return xasprintf("%s%s%s%s%s", address, frame->function, gap, frame->file, line);
	if (!*frame->mapping)
		return xasprintf("%s<unknown>", address);
	base = text_base_name(frame->mapping); /* "[vdso]" has its brackets already */
	return *base == '[' ? xasprintf("%s%s", address, base) : xasprintf("%s[%s]", address, base);
}

static void add_frame(struct frames *frames, enum frame_by by, struct frame frame)
{
	char *name scoped(freep) = name_of(&frame, by);
	uint32_t id = strtab_intern(&frames->names, name);

	vec_push(&frames->ids, id - 1);
	if (id <= frames->nr)
		return;
	frame.name = strtab_get(&frames->names, id);
	vec_push(frames, frame);
}

void frames_make(const struct profile *profile, enum frame_by by, struct frames *frames)
{
	*frames = (struct frames){.profile = profile};
	vec_for_each(&profile->locations, location) {
		uint32_t nr_lines = by == FRAME_BY_MAPPING ? 0 : location->nr_lines;

		vec_push(&frames->starts, frames->ids.nr);
		for (uint32_t i = 0; i < nr_lines; i++)
			add_frame(frames, by,
				  frame_of_line(frames, by, location, &location->lines[i]));
		if (!nr_lines)
			add_frame(frames, by, frame_of_line(frames, by, location, NULL));
	}
	vec_push(&frames->starts, frames->ids.nr);
}

void frames_release(struct frames *frames)
{
	vec_release(frames);
	strtab_release(&frames->names);
	arena_release(&frames->arena);
	vec_release(&frames->ids);
	vec_release(&frames->starts);
}

const uint32_t *frames_of(const struct frames *frames, uint32_t location, uint32_t *nr)
{
	uint32_t start = frames->starts.at[location - 1];

	*nr = frames->starts.at[location] - start;
	return &frames->ids.at[start];
}
