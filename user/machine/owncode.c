// SPDX-License-Identifier: BSD-2-Clause
/* By the mapping that has the function, as /proc/self/maps lists it: that needs no symbols, which may be stripped. */
#include "machine/owncode.h"

#include <unistd.h>

#include "process/mapping.h"
#include "process/procfs.h"

#define MAPS_MAX_BYTES (1u << 20)

struct search {
	uint64_t ip, file_off;
};

static void look_at_line(void *ctx, const char *line)
{
	struct search *search = ctx;
	struct map_event map;
	bool executable;

	if (!mapping_parse(line, &map, &executable) && search->ip >= map.start &&
	    search->ip < map.limit)
		search->file_off = search->ip - map.start + map.file_off;
}

uint64_t owncode_offset(void (*function)(void))
{
	struct search search = {.ip = (uintptr_t)function};

	procfs_each_line("/proc", getpid(), "maps", MAPS_MAX_BYTES, look_at_line, &search);
	return search.file_off;
}
