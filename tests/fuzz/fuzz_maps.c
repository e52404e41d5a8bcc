// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lines of /proc/PID/maps as a target may make them. What parses is added, at a time of its own, and
 * must be found at once; the present ones stay sorted and apart, and a copy is not touched by what
 * the original goes through.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/mapping.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_order(const struct mappings *mappings)
{
	check(mappings->now.nr <= MAPPINGS_MAX);
	for (size_t i = 0; i < mappings->now.nr; i++) {
		const struct mapping *map = &mappings->now.at[i];

		check(map->start < map->limit && map->until_ns == UINT64_MAX);
		check(!i || map[-1].limit <= map->start);
	}
	for (size_t i = 0; i < mappings->past.nr; i++)
		check(mappings->past.at[i].since_ns < mappings->past.at[i].until_ns);
}

static void check_found(const struct mappings *mappings, const struct mapping *map, uint64_t ip)
{
	const struct mapping *found = mappings_find(mappings, ip, map->since_ns);

	check(found && found->start <= ip && ip < found->limit && found->file == map->file);
	if (map->file == FILE_NONE)
		check(found->name == map->name);
	else
		check(found->file_off - found->start == map->file_off - map->start);
}

static void add_line(struct mappings *mappings, const char *line, uint64_t time_ns)
{
	struct map_event event;
	struct mapping map;
	bool executable;

	if (mapping_parse(line, &event, &executable))
		return;
	check(event.start < event.limit && event.path[0]);
	map = (struct mapping){.start = event.start,
			       .limit = event.limit,
			       .file_off = event.file_off,
			       .since_ns = time_ns,
			       .until_ns = UINT64_MAX,
			       .file = event.inode ? event.inode % 5 : FILE_NONE,
			       .name = strlen(event.path) % 3};
	/* Now and then one that comes late: it need not be what is found. */
	if (!executable && time_ns > 20)
		map.since_ns -= 15;
	mappings_add(mappings, &map);
	check_order(mappings);
	if (map.since_ns < time_ns)
		return;
	check_found(mappings, &map, map.start);
	check_found(mappings, &map, map.limit - 1);
	check_found(mappings, &map, map.start + (map.limit - map.start) / 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mappings mappings = {0}, copy = {0};
	char *text = malloc(size + 1), *rest = text, *line;
	uint64_t time_ns = 0;

	memcpy(text, data, size);
	text[size] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		time_ns += 10;
		add_line(&mappings, line, time_ns);
		if (time_ns == 100)
			mappings_copy(&copy, &mappings);
	}
	check_order(&copy);
	for (size_t i = 0; i < copy.now.nr; i++)
		check(mappings_find(&copy, copy.now.at[i].start, time_ns) == &copy.now.at[i]);
	mappings_release(&mappings);
	check_order(&copy);
	mappings_release(&copy);
	free(text);
	return 0;
}
