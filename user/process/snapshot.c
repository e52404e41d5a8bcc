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

#include "process/opener.h"

#define MAPS_MAX_BYTES (64u << 20) /* as for opener_each_map() */
/* Distinct paths; more than that only a target makes that wants to fill our memory. */
#define NAMES_MAX 65536

/* A mapping whose file is not opened yet. */
struct found_map {
	struct map_event map; /* without its path */
	uint32_t name;
};

struct reader {
	struct files *files;
	struct strtab *names;
	vec_of(struct found_map) found;
};

static void reader_release(struct reader *reader)
{
	vec_release(&reader->found);
}

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

static struct mapping make_mapping(const struct map_event *map, uint32_t id, struct files *files,
				   uint32_t name)
{
	return (struct mapping){
		.start = map->start,
		.limit = map->limit,
		.file_off = map->file_off,
		.until_ns = UINT64_MAX,
		.file = files_of(files, id, map),
		.name = name,
	};
}

struct mapping snapshot_mapping(const struct map_event *map, uint32_t id, struct files *files,
				struct strtab *names)
{
	return make_mapping(map, id, files, name_of(names, map));
}

static void take_map(void *ctx, const struct map_event *map)
{
	struct reader *reader = ctx;

	if (reader->found.nr >= MAPPINGS_MAX)
		return;
	vec_push(&reader->found, (struct found_map){*map, name_of(reader->names, map)});
}

static void read_line(void *ctx, const char *line)
{
	struct map_event map;
	bool executable;

	if (!mapping_parse(line, &map, &executable) && executable)
		take_map(ctx, &map);
}

/* Reads the mappings of id, which is tgid or a thread of it. */
static int read_maps(const char *proc_root, uint32_t tgid, uint32_t id, struct reader *reader)
{
	struct opener *opener = files_opener(reader->files);
	char file[64] = "maps";
	int err = -ESTALE;

	/* An opener that was replaced in the midst of it begins anew, once. */
	for (int i = 0; opener && i < 2 && err == -ESTALE; i++) {
		reader->found.nr = 0;
		err = opener_each_map(opener, id, take_map, reader);
	}
	if (opener)
		return err;
	if (id != tgid)
		snprintf(file, sizeof(file), "task/%u/maps", id);
	err = procfs_each_line(proc_root, tgid, file, MAPS_MAX_BYTES, read_line, reader);
	return err == -EFBIG ? 0 : err;
}

/* A file is opened when all mappings are known, since the opener may be replaced while it opens one. */
static void open_files(const struct reader *reader, uint32_t id, struct snapshot *snapshot)
{
	vec_for_each(&reader->found, found) {
		found->map.path = strtab_get(reader->names, found->name);
		vec_push(&snapshot->maps,
			 make_mapping(&found->map, id, reader->files, found->name));
	}
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
	struct reader reader scoped(reader_release) = {files, names, {0}};
	struct proc_stat after;
	uint32_t id;
	int err;

	err = procfs_stat(proc_root, tgid, &found.stat);
	if (err)
		return err;
	if (!found.stat.is_kernel_thread) {
		err = task_with_maps(proc_root, tgid, &found.stat, &id);
		if (err)
			return err;
		found.maps_error = read_maps(proc_root, tgid, id, &reader);
		open_files(&reader, id, &found);
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
