/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the memory map at the end of an older profile: executable mappings, in the form of /proc/PID/maps
 *
 *	55d0c0de1000-55d0c0de2000 r-xp 00001000 08:01 1234 /usr/bin/app
 *
 * or in a brief one
 *
 *	40000-80000 /usr/bin/app (@FF00) abc123456	path, file offset, build id
 *
 * each perhaps behind the prefix of a log line ("... file.cc:12] "). "name=value" makes "$name" stand
 * for value in what follows. Other lines are skipped.
 *
 * Unlike pprof, a range needs something between its numbers, and a path may have spaces in it.
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
	size_t replaced_bytes; /* what variables made of lines, all in all */
};

/*
 * Reads all that is left of lines into a zeroed map; parts of one file that lie side by side become
 * one, and the first that looks like a main binary comes first. -EFBIG: more than max_items.
 */
int memory_map_read(struct memory_map *map, struct lines *lines, size_t max_items);
void memory_map_release(struct memory_map *map);

#endif
