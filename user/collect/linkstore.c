// SPDX-License-Identifier: BSD-2-Clause
/*
 * The store is a bpffs that is mounted nowhere: fsmount() gives a descriptor for it and no other way leads to it. Links
 * are pinned there, so their own descriptors can be closed at once. When the descriptor of the mount goes, by close()
 * or because the process ended, the file system is destroyed with the links in it. There the kernel leaves the last
 * step to its work queue (kernel/bpf/syscall.c: bpf_link_put()), where the waits for grace periods run side by side.
 * Measured: 2,000 links take 0.2 s; by closing descriptors 123 s.
 *
 * Rejected: closing in many threads, which does nothing for a cprof that is killed.
 */
#include "collect/linkstore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/log.h"

void linkstore_open(struct linkstore *store)
{
	int context_fd scoped(closep) = fsopen("bpf", FSOPEN_CLOEXEC);

	*store = (struct linkstore){0};
	if (context_fd < 0 || fsconfig(context_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return;
	store->folder_fd = fsmount(context_fd, FSMOUNT_CLOEXEC, 0);
	store->has_folder = store->folder_fd >= 0;
}

bool linkstore_is_bulk(const struct linkstore *store)
{
	return store->has_folder;
}

static void name_path(const struct linkstore *store, uint32_t name, char path[64])
{
	snprintf(path, 64, "/proc/self/fd/%d/%u", store->folder_fd, name);
}

/* Gives a link a name in the folder. -errno, with nothing changed. */
static int pin(struct linkstore *store, int link_fd)
{
	char path[64];

	if (!store->has_folder)
		return -ENOENT;
	name_path(store, store->nr_named, path);
	if (bpf_obj_pin(link_fd, path))
		return -errno;
	store->nr_named++;
	return 0;
}

void linkstore_keep(struct linkstore *store, int link_fd)
{
	if (pin(store, link_fd))
		vec_push(&store->fds, link_fd);
	else
		close(link_fd);
}

struct linkstore_mark linkstore_mark(const struct linkstore *store)
{
	return (struct linkstore_mark){store->nr_named, store->fds.nr};
}

void linkstore_drop_since(struct linkstore *store, struct linkstore_mark mark)
{
	char path[64];

	for (uint32_t i = mark.nr_named; store->has_folder && i < store->nr_named; i++) {
		name_path(store, i, path);
		if (unlink(path))
			detail("a link stays attached until the end: %m");
	}
	while (store->fds.nr > mark.nr_fds)
		close(store->fds.at[--store->fds.nr]);
}

void linkstore_release(struct linkstore *store)
{
	if (store->has_folder)
		close(store->folder_fd);
	store->has_folder = false;
	vec_for_each(&store->fds, fd)
		close(*fd);
	vec_release(&store->fds);
}
