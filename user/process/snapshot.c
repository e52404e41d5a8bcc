// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads stat, maps, and stat again: if the start time changed in between, the tgid was reused and the
 * mappings may belong to another process, so the look is discarded. Only executable mappings are kept. Where
 * the first thread has ended but others run, the maps are read from one of those.
 */
#include "process/snapshot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * 65,530 mappings of ordinary files are 8 MB; a target may have paths of 4 KB each. What lies beyond
 * is not seen.
 */
#define MAPS_MAX_BYTES (64u << 20)
/* Distinct paths; more than that only a target makes that wants to fill our memory. */
#define NAMES_MAX 65536

struct reader {
	struct snapshot *snapshot;
	struct files *files;
	struct strtab *names;
	uint32_t id;
};

static uint32_t name_of(struct strtab *names, const struct map_event *map)
{
	if (strtab_nr(names) >= NAMES_MAX)
		return strtab_intern(names, "[too many names]");
	if (!map->path[0])
		return strtab_intern(names, "//anon");
	if (!map->inode)
		return strtab_intern(names, map->path);
	return strtab_intern_len(names, map->path, path_len_undeleted(map->path));
}

struct mapping snapshot_mapping(const struct map_event *map, uint32_t id, struct files *files,
				struct strtab *names)
{
	return (struct mapping){
		.start = map->start,
		.limit = map->limit,
		.file_off = map->file_off,
		.until_ns = UINT64_MAX,
		.file = files_of(files, id, map),
		.name = name_of(names, map),
	};
}

static void read_line(void *ctx, const char *line)
{
	struct reader *reader = ctx;
	struct map_event map;
	bool executable;

	if (reader->snapshot->maps.nr >= MAPPINGS_MAX || mapping_parse(line, &map, &executable) ||
	    !executable)
		return;
	vec_push(&reader->snapshot->maps,
		 snapshot_mapping(&map, reader->id, reader->files, reader->names));
}

/* The first thread, once it has ended, has no mappings any more: the others have. */
static int task_with_maps(const char *proc_root, uint32_t tgid, const struct proc_stat *stat,
			  uint32_t *id)
{
	*id = tgid;
	if (proc_stat_is_dead(stat))
		return -ESRCH;
	return stat->state == 'Z' ? procfs_live_thread(proc_root, tgid, id) : 0;
}

int snapshot_take(const char *proc_root, uint32_t tgid, struct files *files, struct strtab *names,
		  struct snapshot *snapshot)
{
	struct snapshot found scoped(snapshot_release) = {0};
	struct reader reader = {&found, files, names, tgid};
	struct proc_stat after;
	char file[64] = "maps";
	int err;

	err = procfs_stat(proc_root, tgid, &found.stat);
	if (err)
		return err;
	if (!found.stat.is_kernel_thread) {
		err = task_with_maps(proc_root, tgid, &found.stat, &reader.id);
		if (err)
			return err;
		if (reader.id != tgid)
			snprintf(file, sizeof(file), "task/%u/maps", reader.id);
		err = procfs_each_line(proc_root, tgid, file, MAPS_MAX_BYTES, read_line, &reader);
		found.maps_error = err == -EFBIG ? 0 : err;
	}
	if (procfs_stat(proc_root, tgid, &after) || proc_stat_is_dead(&after) ||
	    after.start_ticks != found.stat.start_ticks)
		return -ESRCH;
	*snapshot = found;
	found = (struct snapshot){0};
	return 0;
}

void snapshot_release(struct snapshot *snapshot)
{
	vec_release(&snapshot->maps);
	snapshot->maps_error = 0;
}
