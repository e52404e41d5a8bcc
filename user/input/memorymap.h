/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the memory map at the end of an older profile: executable mappings, in the form of /proc/PID/maps
 *
 *	55d0c0de1000-55d0c0de2000 r-xp 00001000 08:01 1234 /usr/bin/app
 *
 * or in a short form
 *
 *	40000-80000 /usr/bin/app (@FF00) abc123456	path, file offset, build id
 *
 * Each may have the prefix of a log line ("... file.cc:12] "). "name=value" defines "$name" for the
 * following lines. Other lines are skipped.
 *
 * Unlike pprof, this reader requires a separator between the numbers of a range, and accepts spaces in a path.
 *
 * Source: pprof's profile/legacy_profile.go (parseMappingEntry, massageMappings).
 */
#ifndef CPROF_INPUT_MEMORYMAP_H
#define CPROF_INPUT_MEMORYMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "input/lines.h"

struct memory_mapping {
	uint64_t start, limit, file_off;
	const char *path, *build_id; /* never NULL; in the arena */
};

struct memory_map {
	vec_of(struct memory_mapping) all;
	struct arena arena;
	vec_of(struct memory_variable {
		const char *name; /* with its '$' */
		const char *value;
	}) variables;
	size_t replaced_bytes; /* total length of lines after variables were replaced */
};

/*
 * Reads the rest of lines into a zeroed map. Adjacent parts of one file become one, and the first mapping
 * that looks like a main binary is moved to the front. -EFBIG: more than max_items.
 */
int memory_map_read(struct memory_map *map, struct lines *lines, size_t max_items);
void memory_map_release(struct memory_map *map);

#endif
