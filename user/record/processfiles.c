// SPDX-License-Identifier: BSD-2-Clause
/*
 * The files that processes map, as what names code finds them.
 *
 * Where there is an opener it opens what the host has, too: main has no capabilities for files any more.
 */
#include "record/processfiles.h"

#include "process/opener.h"

static int fd_of(void *ctx, uint32_t file)
{
	return files_fd(ctx, file);
}

static const char *path_of(const void *ctx, uint32_t file)
{
	return files_path(ctx, file);
}

static int open_of_host(void *ctx, const char *path)
{
	return opener_of_host(files_opener(ctx), path, NULL);
}

static int open_beneath(void *ctx, uint32_t file, const char *path)
{
	return files_beneath(ctx, file, path);
}

struct codefiles processfiles(struct files *files)
{
	return (struct codefiles){.ctx = files,
				  .fd = fd_of,
				  .path = path_of,
				  .open = open_of_host,
				  .beneath = open_beneath};
}
