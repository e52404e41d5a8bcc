// SPDX-License-Identifier: BSD-2-Clause
/*
 * Written with stdio, a capture at a time, in the byte order of the machine: the file is read by a test on the same
 * machine.
 */
#include "record/captures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "output/file.h"

struct captures {
	FILE *file;
	const char *path;
	struct tasks *tasks;
	const struct files *files;
	int err; /* the first failure; nothing is written after it */
};

int captures_open(const char *path, struct tasks *tasks, const struct files *files,
		  struct captures **captures)
{
	struct output_owner owner = output_owner_from_env();
	int fd = output_file_open_new(path, &owner);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		return output_file_fail(fd < 0 ? fd : -errno, path);
	*captures = xcalloc(1, sizeof(**captures));
	**captures = (struct captures){file, path, tasks, files, 0};
	return 0;
}

int captures_close(struct captures *captures)
{
	int err;

	if (!captures)
		return 0;
	if (fclose(captures->file) && !captures->err)
		captures->err = -errno;
	err = captures->err;
	if (err)
		warn("'%s' is not complete: %s", captures->path, strerror(-err));
	free(captures);
	return err;
}

static void put(struct captures *captures, const void *bytes, size_t len_bytes)
{
	if (!captures->err && fwrite(bytes, 1, len_bytes, captures->file) != len_bytes)
		captures->err = errno ? -errno : -EIO;
}

/* The caller frees it. */
static char *describe_mappings(const struct captures *captures, const struct record *record)
{
	const struct image *image =
		tasks_image(captures->tasks, record->tgid, record->start_ns, record->time_ns);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return xstrdup("");
	vec_for_each(&image->mappings.now, map)
		fprintf(out, "%lx %lx %lx %s\n", map->start, map->limit, map->file_off,
			map->file == FILE_NONE ? strtab_get(tasks_names(captures->tasks), map->name)
					       : files_path(captures->files, map->file));
	fclose(out);
	return text;
}

void captures_write(struct captures *captures, const struct record *sent,
		    const struct record *whole)
{
	const struct stack_copy *from = sent->capture;
	char *maps scoped(freep) = describe_mappings(captures, sent);
	struct capture capture = {
		.magic = CAPTURE_MAGIC,
		.ip = from->ip,
		.time_ns = sent->time_ns,
		.tgid = sent->tgid,
		.end = whole->end,
		.nr_bpf = sent->nr_user,
		.nr_ips = whole->nr_user,
		.stack_bytes = from->len_bytes,
		.maps_bytes = strlen(maps),
	};

	memcpy(capture.regs, from->leaf, sizeof(capture.regs));
	put(captures, &capture, sizeof(capture));
	put(captures, whole->user_ips, sizeof(uint64_t) * whole->nr_user);
	put(captures, from->bytes, from->len_bytes);
	put(captures, maps, capture.maps_bytes);
}
