// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file is examined when it is first mapped by a target, and noted as done, whether or not it is an allocator. Notes
 * are by tgid where probes are for one process, and by tgid 0 where they are for all. Finding an allocator needs its
 * symbols, which take far longer to read than the notes to search.
 */
#include "heap/prober.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "heap/allocator.h"
#include "base/alloc.h"
#include "base/log.h"

static bool same_tgid(const void *ctx, uint32_t value, const void *key)
{
	const struct prober *prober = ctx;

	return prober->targets.at[value] == *(const uint32_t *)key;
}

static bool is_listed(const struct prober *prober, uint32_t tgid)
{
	return hash_find(&prober->targets_index, hash_u64(tgid), same_tgid, prober, &tgid) !=
	       HASH_NONE;
}

void prober_add_target(struct prober *prober, uint32_t tgid)
{
	if (is_listed(prober, tgid))
		return;
	hash_insert(&prober->targets_index, hash_u64(tgid), prober->targets.nr);
	vec_push(&prober->targets, tgid);
}

static bool is_target(struct prober *prober, const struct process *process)
{
	if (prober->all || is_listed(prober, process->tgid))
		return true;
	if (!prober->follow_forks || !is_listed(prober, process->parent_tgid))
		return false;
	prober_add_target(prober, process->tgid);
	return true;
}

/*
 * Notes that file is dealt with in tgid; false: it was already. Two probes at one place would count each
 * call twice, so where the index is new the inode is compared.
 */
static bool note(struct prober *prober, uint32_t tgid, uint32_t file)
{
	struct stat st = {0};
	bool is_new = true;

	vec_for_each(&prober->probed, probed)
		if (probed->tgid == tgid && probed->file == file)
			return false;
	if (fstat(files_fd(prober->files, file), &st))
		return false;
	vec_for_each(&prober->probed, probed)
		if (probed->tgid == tgid && probed->device == st.st_dev &&
		    probed->inode == st.st_ino)
			is_new = false;
	vec_push(&prober->probed, (struct probed){tgid, file, st.st_dev, st.st_ino});
	return is_new;
}

static void say_where(const struct allocator *allocator, const char *path)
{
	for (size_t i = 0; i < allocator->nr; i++)
		detail("probing %s+%u at offset %#lx of %s%s", allocator->names[i],
		       allocator->offsets[i], allocator->sites[i].file_off, path,
		       allocator->sites[i].is_leaf ? " (a leaf)" : "");
}

static void probe_file(struct prober *prober, uint32_t process, uint32_t file)
{
	uint32_t tgid = prober->all || prober->follow_forks ? 0 : process;
	struct allocator allocator;
	struct object *object;
	int fd, err;

	if (file == FILE_NONE || !note(prober, tgid, file))
		return;
	fd = files_fd(prober->files, file);
	object = objects_get(prober->objects, file, fd);
	if (!prober->managed)
		prober->managed = managed_of(object, files_path(prober->files, file));
	allocator_find(object, fd, &allocator);
	if (prober->allocs_only)
		allocator_drop_frees(&allocator);
	if (!allocator.nr)
		return;
	err = session_probe(prober->session, allocator.sites, allocator.nr, fd, tgid);
	if (err && !prober->err)
		prober->err = fail(err, "cannot probe the allocator in '%s'",
				   files_path(prober->files, file));
	if (err)
		return;
	say_where(&allocator, files_path(prober->files, file));
	prober->nr_sites += allocator.nr;
}

void prober_on_map(void *ctx, const struct process *process, const struct mapping *map)
{
	struct prober *prober = ctx;

	if (is_target(prober, process))
		probe_file(prober, process->tgid, map->file);
}

void prober_expect(struct prober *prober, uint32_t tgid, const char *path)
{
	char *whole scoped(freep) = realpath(path, NULL);
	struct map_event map = {.path = whole};
	struct stat st;

	if (!whole || stat(whole, &st))
		return;
	map.dev_major = major(st.st_dev);
	map.dev_minor = minor(st.st_dev);
	map.inode = st.st_ino;
	probe_file(prober, tgid, files_of(prober->files, tgid, &map));
}

void prober_release(struct prober *prober)
{
	vec_release(&prober->targets);
	hash_release(&prober->targets_index);
	vec_release(&prober->probed);
}
