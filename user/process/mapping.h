/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executable mappings of one process image over time: from (ip, time) to file and offset.
 *
 * Mappings come and go (dlopen, dlclose, a JIT), and a sample is resolved long after it was taken. So a
 * mapping that is replaced is kept as a past one, and a look-up says at which time.
 *
 * Not here: opening files (process/files), ELF (object/).
 */
#ifndef CPROF_PROCESS_MAPPING_H
#define CPROF_PROCESS_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "stream.h"

#define FILE_NONE UINT32_MAX

/* The kernel's default vm.max_map_count is 65,530; databases ask for 262,144. */
#define MAPPINGS_MAX	  262144
#define MAPPINGS_MAX_PAST 8192

struct mapping {
	uint64_t start, limit; /* ips [start, limit) */
	uint64_t file_off;     /* of start; meaningless where file is FILE_NONE */
	uint64_t since_ns;     /* 0: since before cprof looked */
	uint64_t until_ns;     /* UINT64_MAX: still there */
	uint32_t file;	       /* an index into struct files (process/files.h), or FILE_NONE */
	uint32_t name;	       /* strtab id of the path, "[vdso]" or "//anon" */
};

struct mappings {
	vec_of(struct mapping) now;  /* sorted by start, no overlaps */
	vec_of(struct mapping) past; /* in the order they ended */
	uint32_t *nr_sharers; /* private: of now.at, this one included; NULL: it is not shared */
};

/*
 * Adds a mapping that exists since map->since_ns (until_ns is not read). Whatever of the present ones
 * overlaps it ends at that time (a partial replacement keeps its unreplaced ends); where a present
 * one is newer than map, map is the one that ended. Neighbours on the same line (file and offset, or
 * the name where there is no file) become one. Returns whether anything changed: a mapping inside a
 * present one on the same line changes nothing.
 *
 * At most MAPPINGS_MAX are held, and MAPPINGS_MAX_PAST of the past, the latest.
 */
bool mappings_add(struct mappings *mappings, const struct mapping *map);

/*
 * The mapping that held ip at time_ns; failing that, the first one known to hold it later (a
 * mapping event may lag behind a sample by a little), else the last one before; else NULL.
 * Borrowed until the next change.
 */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t ip, uint64_t time_ns);

/*
 * A copy of the present mappings in *to (empty before), for a forked child; the past is the parent's
 * own. It costs nothing until one of the two changes: the array is shared (not across threads).
 */
void mappings_copy(struct mappings *to, struct mappings *from);
/* Frees past and present; the mappings are empty again. */
void mappings_release(struct mappings *mappings);

/*
 * Parses one line of /proc/PID/maps, without its newline. Only shape is judged, nothing is opened.
 * Source: proc(5), fs/proc/task_mmu.c. map->path borrows from line: the rest of the line, with
 * spaces and a trailing " (deleted)" as they are; "" for an anonymous mapping, which is given as
 * "//anon" in *map. The kernel writes a newline in a path as "\012": that stays as it is too.
 * -EINVAL: not such a line (hostile or truncated; an inode without a path is a truncated one): *map
 * and *executable are untouched.
 */
int mapping_parse(const char *line, struct map_event *map, bool *executable);

#endif
