// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the names that stand as comments behind the stacks of Go's profiles with debug=1, and of cprof's own text:
 *
 *	1: 24 [1: 24] @ 0x4012e1 0x4a0b21
 *	#	0x4012e0	main.grow+0x20		/src/main.go:12
 *	#	0x4a0b20	main.main+0x40		/src/main.go:30
 *
 * Lines that follow one another with one address are of inlined functions, innermost first; but one that is like the
 * first of them is of a recursion. Go has no line for its runtime's frames at the leaf and at the root: where others of a stack
 * have one, these are left out. Frames of interpreters have no addresses in what cprof writes: then not all frames are
 * in the stacks, and no names are taken. pprof takes all of this for comments, and its frames have no names where the
 * binary is not at hand.
 */
#include "input/legacy.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INLINED 256	      /* of one address */
#define MAX_SHOWN   (1 << 16) /* frames of one stack */

struct name {
	struct text function, file;
	int64_t line;
};

struct names {
	const struct legacy *legacy;
	struct profile_location
		*location; /* that the lines at hand are of; NULL: of none, or they are known */
	uint64_t address;
	struct name first;
	vec_of(struct profile_line) lines;
};

static void names_release(struct names *names)
{
	vec_release(&names->lines);
}

/* What stands before the next tab, without blanks around it. */
static struct text take_column(struct text *line)
{
	struct text column;
	const char *tab;

	text_skip_spaces(line);
	tab = memchr(line->at, '\t', line->len);
	column = (struct text){line->at, tab ? (size_t)(tab - line->at) : line->len};
	line->at += column.len;
	line->len -= column.len;
	return text_trim(column);
}

/* Parts "/src/main.go:12". false: there is no line. */
static bool take_line_number(struct text *file, int64_t *line)
{
	size_t len = file->len;
	struct text digits;

	while (len && isdigit((unsigned char)file->at[len - 1]))
		len--;
	digits = (struct text){file->at + len, file->len - len};
	if (len < 2 || file->at[len - 1] != ':' || !text_take_int(&digits, line))
		return false;
	file->len = len - 1;
	return true;
}

/* "main.grow+0x20": how far behind its beginning is not of the name. */
static void cut_distance(struct text *function)
{
	const char *plus = memrchr(function->at, '+', function->len);

	if (plus && plus > function->at &&
	    text_starts((struct text){plus, function->at + function->len - plus}, "+0x"))
		function->len = plus - function->at;
}

/* Takes "#", and the address behind it. */
static bool take_address(struct text *line, uint64_t *address)
{
	if (!text_take(line, '#'))
		return false;
	text_skip_spaces(line);
	return text_starts(*line, "0x") && text_take_hex(line, address);
}

static bool read_name(struct text line, uint64_t *address, struct name *name)
{
	if (!take_address(&line, address))
		return false;
	name->function = take_column(&line);
	name->file = take_column(&line);
	name->line = 0;
	if (take_line_number(&name->file, &name->line))
		cut_distance(&name->function);
	else if (!memchr(name->file.at, '/', name->file.len))
		name->file.len = 0; /* a mapping */
	return name->function.len;
}

static bool same_name(const struct name *a, const struct name *b)
{
	if (a->line != b->line || a->function.len != b->function.len)
		return false;
	return !a->function.len || !memcmp(a->function.at, b->function.at, a->function.len);
}

/* The lines at hand are all of their location's. */
static void end_location(struct names *names)
{
	struct profile *profile = names->legacy->addresses.profile;
	struct profile_line *lines;

	if (!names->location || !names->lines.nr)
		return;
	lines = arena_alloc(&profile->arena, names->lines.nr * sizeof(*lines));
	memcpy(lines, names->lines.at, names->lines.nr * sizeof(*lines));
	names->location->lines = lines;
	names->location->nr_lines = names->lines.nr;
	names->location = NULL;
}

static void begin_location(struct names *names, uint64_t address, const struct name *name)
{
	struct profile *profile = names->legacy->addresses.profile;
	uint32_t id = addresses_location(&names->legacy->addresses, address);

	end_location(names);
	names->address = address;
	names->first = *name;
	names->lines.nr = 0;
	names->location = id ? &profile->locations.at[id - 1] : NULL;
	if (names->location && names->location->nr_lines)
		names->location = NULL; /* as it was in another stack */
}

static void add_line(struct names *names, const struct name *name)
{
	struct profile *profile = names->legacy->addresses.profile;
	uint32_t text = input_string(profile, name->function.at, name->function.len);
	struct profile_function function = {
		.name = text,
		.system_name = text,
		.path = input_string(profile, name->file.at, name->file.len),
	};

	if (names->lines.nr < MAX_INLINED)
		vec_push(&names->lines,
			 (struct profile_line){.function = profile_function_id(profile, &function),
					       .line = name->line});
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The addresses of one stack that are shown in comments. */
struct shown {
	vec_of(uint64_t) all;
};

static void add_shown(struct shown *shown, uint64_t address)
{
	size_t nr = shown->all.nr;

	if (nr < MAX_SHOWN && (!nr || shown->all.at[nr - 1] != address))
		vec_push(&shown->all, address);
}

static bool is_shown(const struct shown *shown, uint64_t address)
{
	return bsearch(&address, shown->all.at, shown->all.nr, sizeof(address), compare_addresses);
}

/* Removes what stands in front of the first of these, and behind the last; all of them are taken. */
static void cut_stack(struct addresses *addresses, size_t i, struct shown *shown)
{
	struct address_stack *stack = &addresses->stacks.at[i];
	const uint64_t *all = addresses->all.at + stack->first;
	size_t first = 0, limit = stack->nr;

	if (!shown->all.nr)
		return;
	qsort(shown->all.at, shown->all.nr, sizeof(uint64_t), compare_addresses);
	while (first < limit && !is_shown(shown, all[first]))
		first++;
	while (limit > first && !is_shown(shown, all[limit - 1]))
		limit--;
	if (limit > first) {
		stack->first += first;
		stack->nr = limit - first;
	}
	shown->all.nr = 0;
}

/* The comments of a stack end with the first line that is none. */
static void cut_stacks(struct legacy *legacy, struct shown *shown)
{
	struct lines lines = legacy->whole;
	struct text line;
	uint64_t address;
	size_t i = 0;

	while (i < legacy->stack_lines.nr && lines_next(&lines, &line)) {
		if (lines.nr <= legacy->stack_lines.at[i])
			continue;
		if (!text_starts(line, "#"))
			cut_stack(&legacy->addresses, i++, shown);
		else if (take_address(&line, &address))
			add_shown(shown, address);
	}
	if (i < legacy->stack_lines.nr)
		cut_stack(&legacy->addresses, i, shown);
}

/* Are there frames without addresses? */
static bool has_interpreted(const struct legacy *legacy)
{
	struct lines lines = legacy->whole;
	struct text line;

	while (lines_next(&lines, &line))
		if (text_starts(line, "#\t\t"))
			return true;
	return false;
}

void legacy_cut_nameless(struct legacy *legacy)
{
	struct shown shown = {0};

	legacy->names = !has_interpreted(legacy);
	if (legacy->names)
		cut_stacks(legacy, &shown);
	vec_release(&shown.all);
}

int legacy_take_names(const struct legacy *legacy)
{
	const struct profile *profile = legacy->addresses.profile;
	struct names names scoped(names_release) = {.legacy = legacy};
	struct lines lines = legacy->whole;
	struct text line;
	uint64_t address;
	struct name name;

	while (lines_next(&lines, &line)) {
		if (!read_name(line, &address, &name)) {
			end_location(&names);
			names.address = 0;
			continue;
		}
		if (address != names.address || same_name(&name, &names.first))
			begin_location(&names, address, &name);
		if (names.location)
			add_line(&names, &name);
		if (profile->functions.nr > legacy->addresses.max_items)
			return -EFBIG;
	}
	end_location(&names);
	return 0;
}
