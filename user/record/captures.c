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
	**captures = (struct captures){file, path, tasks, files};
	return 0;
}

void captures_close(struct captures *captures)
{
	if (!captures)
		return;
	if (fclose(captures->file))
		warn("'%s' is not complete: %s", captures->path, strerror(errno));
	free(captures);
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
	fwrite(&capture, sizeof(capture), 1, captures->file);
	fwrite(whole->user_ips, sizeof(uint64_t), whole->nr_user, captures->file);
	fwrite(from->bytes, 1, from->len_bytes, captures->file);
	fwrite(maps, 1, capture.maps_bytes, captures->file);
}
