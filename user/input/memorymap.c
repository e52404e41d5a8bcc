// SPDX-License-Identifier: BSD-2-Clause
/*
 * A line is tried as a mapping (range, permissions, then the columns of /proc/PID/maps or the
 * brief ones), else as a variable; what is neither is skipped, as pprof does. pprof has regexes
 * for it, which are linear in Go, but not in the C library: hence scanners by hand. What variables
 * expand to is bounded for the whole file (MAX_REPLACED_BYTES), since one may stand in a line many
 * times.
 *
 * Adjacent parts of a file are joined after all were read: loaders map one segment in pieces.
 */
#include "input/memorymap.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define MAX_VARIABLES	   64
#define MAX_VALUE_BYTES	   4096
#define MAX_REPLACED_BYTES (16u << 20) /* a short line may become a long one, again and again */

/* "file.cc:123] " and whatever stands before it. */
static struct text without_log_prefix(struct text line)
{
	const char *bracket = memchr(line.at, ']', line.len), *digit = bracket;
	const char *end = line.at + line.len;

	if (!bracket || bracket + 1 == end || !isspace((unsigned char)bracket[1]) ||
	    memchr(line.at, '[', bracket - line.at))
		return line;
	while (digit > line.at && isdigit((unsigned char)digit[-1]))
		digit--;
	if (digit == bracket || digit - line.at < 2 || digit[-1] != ':')
		return line;
	return (struct text){bracket + 2, end - bracket - 2};
}

static const struct memory_variable *variable_at(const struct memory_map *map, struct text text)
{
	vec_for_each(&map->variables, variable)
		if (text_starts(text, variable->name))
			return variable;
	return NULL;
}

/* The line with its variables replaced; in the arena, if there are any. */
static struct text with_variables(struct memory_map *map, struct text line)
{
	vec_of(char) out = {0};
	struct text result;

	if (!map->variables.nr || !memchr(line.at, '$', line.len))
		return line;
	while (line.len && map->replaced_bytes + out.nr < MAX_REPLACED_BYTES) {
		const struct memory_variable *variable = variable_at(map, line);
		size_t taken = variable ? strlen(variable->name) : 1;
		const char *from = variable ? variable->value : line.at;
		size_t nr = variable ? strlen(variable->value) : 1;

		vec_reserve(&out, nr);
		memcpy(out.at + out.nr, from, nr);
		out.nr += nr;
		line.at += taken;
		line.len -= taken;
	}
	map->replaced_bytes += out.nr;
	result = (struct text){arena_strndup(&map->arena, out.at, out.nr), out.nr};
	vec_release(&out);
	return result;
}

static bool take_range(struct text *line, struct memory_mapping *mapping)
{
	struct text rest = *line;
	bool parted;

	text_skip_spaces(&rest);
	if (!text_take_hex(&rest, &mapping->start))
		return false;
	parted = rest.len && isspace((unsigned char)*rest.at);
	parted |= text_take(&rest, '-');
	text_skip_spaces(&rest);
	if (!parted || !text_take_hex(&rest, &mapping->limit))
		return false;
	text_take(&rest, ':');
	if (rest.len && !isspace((unsigned char)*rest.at))
		return false;
	*line = rest;
	return true;
}

static bool take_permissions(struct text *line, struct text *permissions)
{
	struct text rest = *line;

	if (!text_take_token(&rest, permissions))
		return false;
	for (size_t i = 0; i < permissions->len; i++)
		if (!strchr("-rwxps", permissions->at[i]))
			return false;
	*line = rest;
	return true;
}

static bool is_hex(struct text token, uint64_t *value)
{
	return text_take_hex(&token, value) && !token.len;
}

/* "08:01" */
static bool is_device(struct text token)
{
	uint64_t major, minor;

	return text_take_hex(&token, &major) && text_take(&token, ':') && is_hex(token, &minor);
}

static bool is_decimal(struct text token)
{
	int64_t value;

	return text_take_int(&token, &value) && !token.len;
}

/* [offset] device inode, of a line of /proc/PID/maps. */
static bool take_proc_columns(struct text *line, uint64_t *file_off)
{
	struct text rest = *line, token;
	uint64_t value = 0;

	if (!text_take_token(&rest, &token))
		return false;
	if (is_hex(token, &value) && !text_take_token(&rest, &token))
		return false;
	if (!is_device(token) || !text_take_token(&rest, &token) || !is_decimal(token))
		return false;
	*line = rest;
	*file_off = value;
	return true;
}

static const char *path_of(struct memory_map *map, struct text text)
{
	static const char deleted[] = "(deleted)";

	text = text_trim(text);
	if (text.len >= sizeof(deleted) - 1 &&
	    !memcmp(text.at + text.len - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1))
		text.len -= sizeof(deleted) - 1;
	text = text_trim(text);
	return arena_strndup(&map->arena, text.at, text.len);
}

/* path, (@offset), build id: each may be missing. */
static void take_brief_columns(struct memory_map *map, struct text line,
			       struct memory_mapping *mapping)
{
	struct text token;
	uint64_t ignored;

	if (!text_take_token(&line, &token))
		return;
	mapping->path = path_of(map, token);
	if (!text_take_token(&line, &token))
		return;
	if (text_take_word(&token, "(@")) {
		if (!text_take_hex(&token, &mapping->file_off) || !text_take(&token, ')') ||
		    !text_take_token(&line, &token))
			return;
	}
	for (struct text digit = token; digit.len; digit.at++, digit.len--)
		if (!is_hex((struct text){digit.at, 1}, &ignored))
			return;
	mapping->build_id = arena_strndup(&map->arena, token.at, token.len);
}

/* Adds the mapping that line is, if it is an executable one. false: it is no mapping. */
static bool take_mapping(struct memory_map *map, struct text line)
{
	struct memory_mapping mapping = {.path = "", .build_id = ""};
	struct text permissions;

	if (!take_range(&line, &mapping))
		return false;
	if (take_permissions(&line, &permissions) && !memchr(permissions.at, 'x', permissions.len))
		return true;
	if (take_proc_columns(&line, &mapping.file_off))
		mapping.path = path_of(map, line);
	else
		take_brief_columns(map, line, &mapping);
	vec_push(&map->all, mapping);
	return true;
}

static void take_variable(struct memory_map *map, struct text line)
{
	const char *equals = memchr(line.at, '=', line.len);
	struct text name, value;
	char *dollar_name;

	if (!equals || map->variables.nr == MAX_VARIABLES)
		return;
	name = text_trim((struct text){line.at, equals - line.at});
	value = text_trim((struct text){equals + 1, line.at + line.len - equals - 1});
	if (!name.len || value.len > MAX_VALUE_BYTES)
		return;
	dollar_name = arena_alloc(&map->arena, name.len + 2);
	dollar_name[0] = '$';
	memcpy(dollar_name + 1, name.at, name.len);
	vec_push(&map->variables, (struct memory_variable){
					  .name = dollar_name,
					  .value = arena_strndup(&map->arena, value.at, value.len),
				  });
}

static bool same_or_unknown(const char *a, const char *b)
{
	return !*a || !*b || !strcmp(a, b);
}

/* Are these two parts of one mapping? */
static bool is_continued(const struct memory_mapping *a, const struct memory_mapping *b)
{
	if (!same_or_unknown(a->path, b->path) || !same_or_unknown(a->build_id, b->build_id))
		return false;
	if (a->limit != b->start)
		return false;
	return !a->file_off || !b->file_off || a->file_off + (a->limit - a->start) == b->file_off;
}

static void join_adjacent(struct memory_map *map)
{
	size_t nr = 0;

	for (size_t i = 0; i < map->all.nr; i++) {
		const struct memory_mapping *next = &map->all.at[i];
		struct memory_mapping *last = nr ? &map->all.at[nr - 1] : NULL;

		if (!last || !is_continued(last, next)) {
			map->all.at[nr++] = *next;
			continue;
		}
		last->limit = next->limit;
		if (*next->path)
			last->path = next->path;
		if (*next->build_id)
			last->build_id = next->build_id;
	}
	map->all.nr = nr;
}

/* "libc.so.6", "libc-2.28.so" */
static bool is_library(const char *path)
{
	for (const char *so = path; (so = strstr(so, ".so")); so += 3)
		if (!so[3] || ((so[3] == '.' || so[3] == '_') && isdigit((unsigned char)so[4])))
			return true;
	return false;
}

static void put_main_first(struct memory_map *map)
{
	for (size_t i = 0; i < map->all.nr; i++) {
		struct memory_mapping main_mapping = map->all.at[i];

		if (!*main_mapping.path || *main_mapping.path == '[' ||
		    is_library(main_mapping.path))
			continue;
		map->all.at[i] = map->all.at[0];
		map->all.at[0] = main_mapping;
		return;
	}
}

int memory_map_read(struct memory_map *map, struct lines *lines, size_t max_items)
{
	struct text line;

	while (lines_next(lines, &line)) {
		line = with_variables(map, without_log_prefix(line));
		if (!take_mapping(map, line))
			take_variable(map, line);
		if (map->all.nr > max_items)
			return -EFBIG;
	}
	join_adjacent(map);
	put_main_first(map);
	return 0;
}

void memory_map_release(struct memory_map *map)
{
	vec_release(&map->all);
	vec_release(&map->variables);
	arena_release(&map->arena);
}
