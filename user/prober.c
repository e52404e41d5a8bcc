// SPDX-License-Identifier: BSD-2-Clause
#include "prober.h"

#include "allocator.h"
#include "base/log.h"

static bool is_target(const struct prober *prober, uint32_t tgid)
{
	vec_for_each(&prober->targets, target)
		if (*target == tgid)
			return true;
	return prober->all;
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

void prober_on_map(void *ctx, const struct process *process, const struct mapping *map)
{
	struct prober *prober = ctx;
	uint32_t tgid = prober->all ? 0 : process->tgid;
	struct allocator_site sites[ALLOCATOR_MAX_SITES];
	struct object *object;
	size_t nr;
	int fd;

	if (map->file == FILE_NONE || !is_target(prober, process->tgid) ||
	    !note(prober, tgid, map->file))
		return;
	fd = files_fd(prober->files, map->file);
	object = objects_get(prober->objects, map->file, fd);
	nr = allocator_sites(object, sites);
	for (size_t i = 0; i < nr; i++) {
		int err =
			session_probe(prober->session, sites[i].shape, fd, sites[i].file_off, tgid);

		if (err && !prober->err)
			prober->err = fail(err, "probe %s in '%s'", sites[i].name,
					   files_path(prober->files, map->file));
		if (err)
			return;
		detail("probing %s at offset %#lx of %s", sites[i].name, sites[i].file_off,
		       files_path(prober->files, map->file));
		prober->nr_sites++;
	}
}

void prober_release(struct prober *prober)
{
	vec_release(&prober->targets);
	vec_release(&prober->probed);
}
