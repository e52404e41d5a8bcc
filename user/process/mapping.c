// SPDX-License-Identifier: BSD-2-Clause
/*
 * The present is a sorted array, and the past a log of what was replaced. The kernel announces what
 * is mapped and never what is unmapped, so a mapping ends when another takes its place:
 *
 *	present		|----- A -----|      |--- B ---|
 *	added at t	         |---- C ----|
 *	present		|-- A ---|---- C ----|-- B ----|
 *	past		         |-A--| until t
 *
 * One array by address, not a tree: a process has a hundred of them, they are announced once and
 * looked up for every frame; and a forked child shares the array until one of the two changes it.
 *
 * Why neighbours on one line become one, although the second came later: a JIT grows its code page by
 * page, and the kernel announces the whole grown mapping each time. The joined mapping claims to
 * be as old as its oldest part, so a look-up goes by ends: of all that held the ip, the first to end
 * after the time asked for was there then, or is the first one known later.
 */
#include "process/mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct pieces {
	vec_of(struct mapping) list;
};

/* The first present mapping that ends at addr or later. */
static size_t first_reaching(const struct mappings *mappings, uint64_t addr)
{
	return vec_partition(&mappings->now, map, map->limit < addr);
}

/* Whether both map every ip that they share to the same place. */
static bool same_line(const struct mapping *a, const struct mapping *b)
{
	if (a->file != b->file)
		return false;
	if (a->file == FILE_NONE)
		return a->name == b->name;
	return a->file_off - a->start == b->file_off - b->start;
}

/* The part of map in [start, limit). */
static struct mapping part_of(const struct mapping *map, uint64_t start, uint64_t limit)
{
	struct mapping part = *map;

	part.file_off += start - map->start;
	part.start = start;
	part.limit = limit;
	part.until_ns = UINT64_MAX;
	return part;
}

/* Ends the part of map in [start, limit), unless it never was: it began at that time or later. */
static void retire(struct mappings *mappings, const struct mapping *map, uint64_t start,
		   uint64_t limit, uint64_t until_ns)
{
	struct mapping part = part_of(map, start, limit);

	if (map->since_ns >= until_ns)
		return;
	part.until_ns = until_ns;
	if (mappings->past.nr == MAPPINGS_MAX_PAST) {
		mappings->past.nr /= 2;
		memmove(mappings->past.at, mappings->past.at + mappings->past.nr,
			mappings->past.nr * sizeof(*mappings->past.at));
	}
	vec_push(&mappings->past, part);
}

/* Appends [start, limit) of map, if it is not empty; joins it to the last piece where they are contiguous. */
static void put(struct pieces *pieces, const struct mapping *map, uint64_t start, uint64_t limit)
{
	struct mapping part = part_of(map, start, limit), *last;

	if (start >= limit)
		return;
	last = pieces->list.nr ? &pieces->list.at[pieces->list.nr - 1] : NULL;
	if (last && last->limit == start && same_line(last, &part)) {
		last->limit = limit;
		if (part.since_ns < last->since_ns)
			last->since_ns = part.since_ns;
		return;
	}
	vec_push(&pieces->list, part);
}

/* What becomes of the present mapping `old` and of the part of map that it overlaps. */
static void put_overlap(struct mappings *mappings, struct pieces *pieces, const struct mapping *old,
			const struct mapping *map)
{
	uint64_t start = old->start > map->start ? old->start : map->start;
	uint64_t limit = old->limit < map->limit ? old->limit : map->limit;

	if (start >= limit) { /* they only touch */
		put(pieces, old, old->start, old->limit);
		return;
	}
	put(pieces, old, old->start, start);
	if (same_line(old, map)) {
		put(pieces, old, start, limit);
	} else if (old->since_ns > map->since_ns) {
		retire(mappings, map, start, limit, old->since_ns);
		put(pieces, old, start, limit);
	} else {
		retire(mappings, old, start, limit, map->since_ns);
		put(pieces, map, start, limit);
	}
	put(pieces, old, limit, old->limit);
}

/* Makes now.at ours alone, so that it may be written. */
static void unshare(struct mappings *mappings)
{
	struct mapping *shared = mappings->now.at;

	if (!mappings->nr_sharers)
		return;
	if (*mappings->nr_sharers == 1) {
		free(mappings->nr_sharers);
	} else {
		--*mappings->nr_sharers;
		mappings->now.cap = mappings->now.nr + 1;
		mappings->now.at = xreallocarray(NULL, mappings->now.cap, sizeof(*shared));
		if (mappings->now.nr)
			memcpy(mappings->now.at, shared, mappings->now.nr * sizeof(*shared));
	}
	mappings->nr_sharers = NULL;
}

/* Puts the pieces in the place of the present mappings [lo, hi). */
static void splice(struct mappings *mappings, size_t lo, size_t hi, const struct pieces *pieces)
{
	size_t nr = pieces->list.nr;

	if (nr > hi - lo)
		vec_reserve(&mappings->now, nr - (hi - lo));
	memmove(mappings->now.at + lo + nr, mappings->now.at + hi,
		(mappings->now.nr - hi) * sizeof(*mappings->now.at));
	memcpy(mappings->now.at + lo, pieces->list.at, nr * sizeof(*pieces->list.at));
	mappings->now.nr = mappings->now.nr - (hi - lo) + nr;
}

/* Is map inside a present mapping (lo or, where it only touches lo, the next) on the same line? */
static bool is_known(const struct mappings *mappings, size_t lo, const struct mapping *map)
{
	for (size_t i = lo; i < mappings->now.nr && i <= lo + 1; i++) {
		const struct mapping *old = &mappings->now.at[i];

		if (old->start <= map->start && old->limit >= map->limit && same_line(old, map))
			return true;
	}
	return false;
}

bool mappings_add(struct mappings *mappings, const struct mapping *map)
{
	size_t lo = first_reaching(mappings, map->start), hi;
	uint64_t covered = map->start; /* pieces has what there is below */
	struct pieces pieces = {0};

	if (map->start >= map->limit || is_known(mappings, lo, map) ||
	    mappings->now.nr >= MAPPINGS_MAX)
		return false;
	unshare(mappings);
	if (lo == mappings->now.nr) { /* as every line of /proc/PID/maps */
		vec_push(&mappings->now, part_of(map, map->start, map->limit));
		return true;
	}
	for (hi = lo; hi < mappings->now.nr && mappings->now.at[hi].start <= map->limit; hi++) {
		const struct mapping *old = &mappings->now.at[hi];

		if (old->start > covered)
			put(&pieces, map, covered, old->start);
		put_overlap(mappings, &pieces, old, map);
		if (old->limit > covered)
			covered = old->limit;
	}
	put(&pieces, map, covered, map->limit);
	splice(mappings, lo, hi, &pieces);
	vec_release(&pieces.list);
	return true;
}

static const struct mapping *present(const struct mappings *mappings, uint64_t ip)
{
	size_t i;

	if (ip == UINT64_MAX) /* no limit lies above it */
		return NULL;
	i = first_reaching(mappings, ip + 1);
	return i < mappings->now.nr && mappings->now.at[i].start <= ip ? &mappings->now.at[i]
								       : NULL;
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t ip, uint64_t time_ns)
{
	const struct mapping *now = present(mappings, ip), *next = NULL, *before = NULL;

	for (size_t i = 0; i < mappings->past.nr; i++) {
		const struct mapping *map = &mappings->past.at[i];

		if (ip < map->start || ip >= map->limit)
			continue;
		if (map->until_ns <= time_ns) {
			if (!before || map->until_ns >= before->until_ns)
				before = map;
		} else if (!next || map->until_ns < next->until_ns) {
			next = map;
		}
	}
	if (next)
		return next;
	return now ? now : before;
}

void mappings_copy(struct mappings *to, struct mappings *from)
{
	if (!from->now.nr)
		return;
	if (!from->nr_sharers) {
		from->nr_sharers = xmalloc(sizeof(*from->nr_sharers));
		*from->nr_sharers = 1;
	}
	++*from->nr_sharers;
	to->now.at = from->now.at;
	to->now.nr = from->now.nr;
	to->now.cap = from->now.cap;
	to->nr_sharers = from->nr_sharers;
}

void mappings_release(struct mappings *mappings)
{
	if (!mappings->nr_sharers || !--*mappings->nr_sharers) {
		free(mappings->nr_sharers);
		free(mappings->now.at);
	}
	vec_release(&mappings->past);
	*mappings = (struct mappings){0};
}

/*
 * One line of maps, as show_map_vma() in fs/proc/task_mmu.c writes it. Numbers have as many digits
 * as they need; the path begins at column 73 or, after long numbers, a blank later.
 *
 *	7f1c2d400000-7f1c2d5d8000 r-xp 00026000 fe:00 132345     /usr/lib/libc.so.6
 *	start        limit        perm file_off dev   inode      path
 *	hex          hex               hex      hex   decimal
 */
static bool take_number(const char **s, unsigned int base, uint64_t max, uint64_t *value)
{
	const char *p = *s;
	uint64_t sum = 0;

	for (;; p++) {
		unsigned int digit = 16;

		if (*p >= '0' && *p <= '9')
			digit = *p - '0';
		else if (*p >= 'a' && *p <= 'f')
			digit = *p - 'a' + 10;
		if (digit >= base)
			break;
		if (sum > (max - digit) / base)
			return false;
		sum = sum * base + digit;
	}
	if (p == *s)
		return false;
	*value = sum;
	*s = p;
	return true;
}

static bool take_char(const char **s, const char *one_of)
{
	if (!**s || !strchr(one_of, **s))
		return false;
	++*s;
	return true;
}

static bool take_permissions(const char **s, bool *executable)
{
	const char *p = *s;

	if (!take_char(s, "r-") || !take_char(s, "w-") || !take_char(s, "x-") ||
	    !take_char(s, "sp"))
		return false;
	*executable = p[2] == 'x';
	return true;
}

int mapping_parse(const char *line, struct map_event *map, bool *executable)
{
	uint64_t start, limit, file_off, major, minor, inode;
	const char *s = line;
	bool is_executable;

	if (!take_number(&s, 16, UINT64_MAX, &start) || !take_char(&s, "-") ||
	    !take_number(&s, 16, UINT64_MAX, &limit) || !take_char(&s, " ") ||
	    !take_permissions(&s, &is_executable) || !take_char(&s, " ") ||
	    !take_number(&s, 16, UINT64_MAX, &file_off) || !take_char(&s, " ") ||
	    !take_number(&s, 16, UINT32_MAX, &major) || !take_char(&s, ":") ||
	    !take_number(&s, 16, UINT32_MAX, &minor) || !take_char(&s, " ") ||
	    !take_number(&s, 10, UINT64_MAX, &inode))
		return -EINVAL;
	if (start >= limit || (*s && *s != ' '))
		return -EINVAL;
	s += strspn(s, " ");
	if (!*s && inode)
		return -EINVAL;
	*map = (struct map_event){
		.start = start,
		.limit = limit,
		.file_off = file_off,
		.dev_major = major,
		.dev_minor = minor,
		.inode = inode,
		.path = *s ? s : "//anon",
	};
	*executable = is_executable;
	return 0;
}
