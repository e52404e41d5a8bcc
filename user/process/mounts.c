// SPDX-License-Identifier: BSD-2-Clause
/*
 * Source: proc_pid_mountinfo(5): lines of ID PARENT MAJOR:MINOR ...; the device is that of the file system, not of its files,
 * which an overlay may show with others.
 *
 * A table is read again when its namespace has changed, which poll(2) tells. While fd is open neither the number of its
 * mount nor that of its file system's device is used again, so what was found in a table that has not changed since is that
 * same mount, and that same device.
 *
 * Rejected: to keep answers by device, since the device of an overlay that is gone becomes that of the next one, and a look
 * takes 65 us for each file of a container, 7 us of cprof's own namespace (22 mounts). To ask whom
 * the mount namespace of the task belongs to: its files may have come to it from another one, as descriptors, and a container
 * with a user namespace has one of its own. To ask whether a file of the overlay is on a disk (FS_IOC_FIEMAP passes
 * through to its layer): the user who mounted it can trigger a copy-up to a layer on FUSE while the file is open.
 */
#include "process/mounts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "process/procfs.h"

#define PROC "/proc"
/* A host has some thousands of mounts, with up to 4 KB for each overlay's list of layers; a container has a hundred. */
#define TABLE_MAX_BYTES	    (16u << 20)
#define OF_A_TASK_MAX_BYTES (1u << 20)

static bool parse(const char *line, struct mount *mount)
{
	return sscanf(line, "%" SCNu64 " %*u %" SCNu32 ":%" SCNu32, &mount->id, &mount->dev_major,
		      &mount->dev_minor) == 3;
}

/* Tables ----------------------------------------------------------------------------------------- */

static void table_release(struct mount_table *table)
{
	fclosep(&table->file);
	table->file = NULL;
	vec_release(&table->all);
}

static bool is_current(const struct mount_table *table)
{
	struct pollfd change = {.events = POLLPRI};

	if (!table->file)
		return false;
	change.fd = fileno(table->file);
	return ppoll(&change, 1, &(struct timespec){0}, NULL) >= 0 &&
	       !(change.revents & (POLLERR | POLLPRI));
}

/* The file stays open: from then on it tells of changes. */
static void table_read(struct mount_table *table, const char *path)
{
	char *line scoped(freep) = NULL;
	size_t cap = 0, len_bytes = 0;
	struct mount mount;
	ssize_t len;

	table_release(table);
	table->file = fopen(path, "re");
	while (table->file && len_bytes < TABLE_MAX_BYTES &&
	       (len = getline(&line, &cap, table->file)) > 0) {
		len_bytes += len;
		if (parse(line, &mount))
			vec_push(&table->all, mount);
	}
}

static bool has_id(const struct mount_table *table, uint64_t id)
{
	vec_for_each(&table->all, mount)
		if (mount->id == id)
			return true;
	return false;
}

static bool has_device(const struct mount_table *table, const struct mount *other)
{
	vec_for_each(&table->all, mount)
		if (mount->dev_major == other->dev_major && mount->dev_minor == other->dev_minor)
			return true;
	return false;
}

/* Namespaces ------------------------------------------------------------------------------------- */

/* Is process 1 in the same namespace of that kind? */
static bool shares_with_init(const char *kind)
{
	char path[32], own[64], of_init[64];
	ssize_t own_len, len;

	snprintf(path, sizeof(path), PROC "/self/ns/%s", kind);
	own_len = readlinkat(AT_FDCWD, path, own, sizeof(own));
	snprintf(path, sizeof(path), PROC "/1/ns/%s", kind);
	len = readlinkat(AT_FDCWD, path, of_init, sizeof(of_init));
	return len > 0 && len == own_len && !memcmp(own, of_init, len);
}

static void look(struct mounts *mounts)
{
	if (!is_current(&mounts->own))
		table_read(&mounts->own, PROC "/self/mountinfo");
	if (is_current(&mounts->of_init))
		return;
	table_release(&mounts->of_init);
	if (shares_with_init("user") && !shares_with_init("mnt"))
		table_read(&mounts->of_init, PROC "/1/mountinfo");
}

/* A mount of a task's. */
struct search {
	struct mount mount;
	bool is_found;
};

static void look_at_line(void *ctx, const char *line)
{
	struct search *search = ctx;
	struct mount mount;

	if (search->is_found || !parse(line, &mount) || mount.id != search->mount.id)
		return;
	search->mount = mount;
	search->is_found = true;
}

bool mounts_are_privileged(struct mounts *mounts, uint32_t task, int fd)
{
	struct search search = {.is_found = false};
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) ||
	    !(st.stx_mask & STATX_MNT_ID))
		return false;
	look(mounts);
	if (has_id(&mounts->own, st.stx_mnt_id) || has_id(&mounts->of_init, st.stx_mnt_id))
		return true;
	search.mount.id = st.stx_mnt_id;
	if (task)
		procfs_each_line(PROC, task, "mountinfo", OF_A_TASK_MAX_BYTES, look_at_line,
				 &search);
	return search.is_found && (has_device(&mounts->own, &search.mount) ||
				   has_device(&mounts->of_init, &search.mount));
}

void mounts_release(struct mounts *mounts)
{
	table_release(&mounts->own);
	table_release(&mounts->of_init);
}
