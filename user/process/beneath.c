// SPDX-License-Identifier: BSD-2-Clause
/*
 * One openat(2) of O_PATH | O_NOFOLLOW for each component. A symbolic link as the last component gives a descriptor of the
 * link itself, which is not a regular file.
 *
 * Rejected: openat2(2) with RESOLVE_IN_ROOT. A filter of system calls cannot look at its flags, so it could not be allowed
 * for reading only.
 */
#include "process/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "process/procfs.h"
#include "process/vetted.h"

#define STATUS_MAX_BYTES (64u << 10)
#define NR_UIDS		 4 /* real, effective, saved, of files */

static int open_root(const char *proc_root, uint32_t tgid)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%u/root", proc_root, tgid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : errno == ENOENT ? -ESRCH : -errno;
}

/* The next component of *rest, which moves on behind it. false: there is none, or it does not fit. */
static bool next_component(const char **rest, char *name, size_t size)
{
	size_t len;

	*rest += strspn(*rest, "/");
	len = strcspn(*rest, "/");
	if (!len || len >= size)
		return false;
	memcpy(name, *rest, len);
	name[len] = '\0';
	*rest += len;
	return true;
}

/* A descriptor of O_PATH of what is there, or -errno. Takes dir_fd over. */
static int walk(int dir_fd, const char *path)
{
	char name[NAME_MAX + 1];
	int fd = dir_fd;

	while (*path) {
		int next;

		if (!next_component(&path, name, sizeof(name)) || !strcmp(name, "..")) {
			closep(&fd);
			return -ENOENT;
		}
		next = openat(fd, name,
			      O_PATH | O_NOFOLLOW | O_CLOEXEC | (*path ? O_DIRECTORY : 0));
		if (next < 0)
			next = -errno;
		closep(&fd);
		if (next < 0)
			return next;
		fd = next;
	}
	return fd;
}

/* Takes root_fd over, which may be an error. */
static int open_below(int root_fd, const char *path, enum vetted_how how)
{
	int path_fd scoped(closep) = root_fd < 0 ? root_fd : walk(root_fd, path);

	return path_fd < 0 ? path_fd : vetted_reopen(path_fd, &(struct inode_id){0}, how);
}

int beneath_open(const char *proc_root, uint32_t tgid, const char *path)
{
	int fd = open_below(open_root(proc_root, tgid), path, VETTED_SAME);
	int root_fd;

	if (fd != -ESRCH && fd != -ENOENT)
		return fd;
	root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return open_below(root_fd < 0 ? -errno : root_fd, path, VETTED_SAME);
}

/* Perf maps -------------------------------------------------------------------------------------- */

struct status {
	unsigned int pid; /* in its own namespace; 0: unknown */
	unsigned int uids[NR_UIDS];
	bool has_uids;
};

static void read_line(void *ctx, const char *line)
{
	struct status *status = ctx;
	const char *last;

	if (!strncmp(line, "NSpid:", 6)) {
		last = strrchr(line, '\t');
		status->pid = last ? (unsigned int)strtoul(last + 1, NULL, 10) : 0;
	}
	if (!strncmp(line, "Uid:", 4))
		status->has_uids = sscanf(line + 4, "%u %u %u %u", &status->uids[0],
					  &status->uids[1], &status->uids[2],
					  &status->uids[3]) == NR_UIDS;
}

static bool may_own(const struct status *status, uid_t owner)
{
	for (int i = 0; i < NR_UIDS; i++)
		if (status->uids[i] == owner)
			return true;
	return owner == 0;
}

int beneath_open_perf_map(const char *proc_root, uint32_t tgid)
{
	struct status status = {0};
	char path[64];
	struct stat st;
	int fd, err = procfs_each_line(proc_root, tgid, "status", STATUS_MAX_BYTES, read_line,
				       &status);

	if (err || !status.pid || !status.has_uids)
		return err ? err : -ESRCH;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", status.pid);
	fd = open_below(open_root(proc_root, tgid), path, VETTED_GROWING);
	if (fd >= 0 && (fstat(fd, &st) || !may_own(&status, st.st_uid))) {
		closep(&fd);
		return -EPERM;
	}
	return fd;
}
