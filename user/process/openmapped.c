// SPDX-License-Identifier: BSD-2-Clause
/* A way that ends for want of descriptors ends them all: the others would end in the same way. */
#include "process/openmapped.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

static int note_forbidden(struct mapped_ways *ways, int fd)
{
	ways->is_forbidden |= fd == -EACCES || fd == -EPERM;
	return fd;
}

static int open_map_files(const char *proc_root, const struct mapped_file *file)
{
	char link[PATH_MAX];
	int len = snprintf(link, sizeof(link), "%s/%u/map_files/%lx-%lx", proc_root, file->task,
			   (unsigned long)file->start, (unsigned long)file->limit);

	return len < (int)sizeof(link) ? vetted_open(link, &file->inode, VETTED_SAME_NUMBER)
				       : -ENAMETOOLONG;
}

static int open_under_root(const char *proc_root, const struct mapped_file *file)
{
	char link[PATH_MAX];
	int len = snprintf(link, sizeof(link), "%s/%u/root%s", proc_root, file->task, file->path);

	return len < (int)sizeof(link) ? vetted_open(link, &file->inode, VETTED_SAME)
				       : -ENAMETOOLONG;
}

int mapped_open(const char *proc_root, const struct mapped_file *file, struct mapped_ways *ways)
{
	int fd;

	*ways = (struct mapped_ways){0};
	fd = note_forbidden(ways, open_map_files(proc_root, file));
	ways->is_refused = fd == -ENOTSUP || fd == -EFBIG;
	if (fd >= 0 || fd == -EMFILE || fd == -ENFILE || ways->is_refused || file->path[0] != '/')
		return fd;
	fd = note_forbidden(ways, open_under_root(proc_root, file));
	if (fd >= 0)
		return fd;
	return note_forbidden(ways, vetted_open(file->path, &file->inode, VETTED_SAME));
}
