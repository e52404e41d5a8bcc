// SPDX-License-Identifier: BSD-2-Clause
#include "prober.h"

#include "allocator.h"
#include "base/log.h"

static bool is_listed(const struct prober *prober, uint32_t tgid)
{
	vec_for_each(&prober->targets, target)
		if (*target == tgid)
			return true;
	return false;
}

static bool is_target(struct prober *prober, const struct process *process)
{
	if (prober->all || is_listed(prober, process->tgid))
		return true;
	if (!prober->follow_forks || !is_listed(prober, process->parent_tgid))
		return false;
	vec_push(&prober->targets, process->tgid);
	return true;
}

/* Notes that file is dealt with in tgid; false: it was already. */
static bool note(struct prober *prober, uint32_t tgid, uint32_t file)
{
	vec_for_each(&prober->probed, probed)
		if (probed->tgid == tgid && probed->file == file)
			return false;
	vec_push(&prober->probed, (struct probed){tgid, file});
	return true;
}

static void say_where(const struct allocator *allocator, const char *path)
{
	for (size_t i = 0; i < allocator->nr; i++)
		detail("probing %s+%u at offset %#lx of %s%s", allocator->names[i],
		       allocator->offsets[i], allocator->sites[i].file_off, path,
		       allocator->sites[i].is_leaf ? " (a leaf)" : "");
}

void prober_on_map(void *ctx, const struct process *process, const struct mapping *map)
{
	struct prober *prober = ctx;
	uint32_t tgid = prober->all || prober->follow_forks ? 0 : process->tgid;
	struct allocator allocator;
	int fd, err;

	if (map->file == FILE_NONE || !is_target(prober, process) || !note(prober, tgid, map->file))
		return;
	fd = files_fd(prober->files, map->file);
	allocator_find(objects_get(prober->objects, map->file, fd), fd, &allocator);
	if (prober->allocs_only)
		allocator_drop_frees(&allocator);
	if (!allocator.nr)
		return;
	err = session_probe(prober->session, allocator.sites, allocator.nr, fd, tgid);
	if (err && !prober->err)
		prober->err = fail(err, "probe the allocator in '%s'",
				   files_path(prober->files, map->file));
	if (err)
		return;
	say_where(&allocator, files_path(prober->files, map->file));
	prober->nr_sites += allocator.nr;
}

void prober_release(struct prober *prober)
{
	vec_release(&prober->targets);
	vec_release(&prober->probed);
}
