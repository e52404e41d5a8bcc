// SPDX-License-Identifier: BSD-2-Clause
/*
 * A jitdump is opened as every mapped file is. It is no file of struct files, which refuses one that changes: this one
 * grows.
 */
#include "process/jitsymfiles.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "process/beneath.h"
#include "process/opener.h"
#include "process/openmapped.h"
#include "process/procfs.h"

#define PROC	       "/proc"
#define MAPS_MAX_BYTES (64u << 20)

struct search {
	struct mapped_file found; /* path NULL: none */
	char *path;
};

void jitsymfiles_free(struct jitsymfiles *files)
{
	if (!files)
		return;
	for (int i = 0; i < NR_JITSYMFILES; i++)
		closep(&files->fds[i]);
	vec_release(&files->marks);
	free(files);
}

bool jitsymfiles_is_memory(const char *path)
{
	static const char *const folders[] = {
		"//anon",      "/memfd:", "/dev/zero", "/dev/shm/", "/SYSV",
		"anon_inode:", "[anon:",  "[heap]",    "[stack"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return true;
	return false;
}

/* "jit-PID.dump", as perf demands it. */
static bool is_jitdump(const char *path)
{
	const char *name = text_base_name(path);
	size_t digits;

	if (*path != '/' || strncmp(name, "jit-", 4) != 0)
		return false;
	digits = strspn(name + 4, "0123456789");
	return digits && (!strcmp(name + 4 + digits, ".dump") ||
			  !strcmp(name + 4 + digits, ".dump (deleted)"));
}

/* The lines of maps have device and inode, which mappings do not keep. */
static void look_at_map(void *ctx, const struct map_event *map)
{
	struct search *search = ctx;

	if (search->path || !is_jitdump(map->path))
		return;
	search->path = xstrdup(map->path);
	search->found.start = map->start;
	search->found.limit = map->limit;
	search->found.inode = (struct inode_id){map->dev_major, map->dev_minor, map->inode};
}

static void look_at_line(void *ctx, const char *line)
{
	struct map_event map;
	bool executable;

	if (!mapping_parse(line, &map, &executable) && executable)
		look_at_map(ctx, &map);
}

static int open_jitdump(struct opener *opener, uint32_t tgid)
{
	struct search search = {.found = {.task = tgid}};
	struct mapped_ways ways;
	int fd = -1;

	if (opener)
		opener_each_map(opener, tgid, look_at_map, &search);
	else
		procfs_each_line(PROC, tgid, "maps", MAPS_MAX_BYTES, look_at_line, &search);
	search.found.path = search.path;
	if (search.path)
		fd = opener ? opener_file(opener, &search.found, &ways)
			    : mapped_open(PROC, &search.found, &ways);
	free(search.path);
	return fd;
}

static int open_perf_map(struct opener *opener, uint32_t tgid)
{
	return opener ? opener_perf_map(opener, tgid) : beneath_open_perf_map(PROC, tgid);
}

static uint64_t length_of(int fd, uint64_t otherwise)
{
	struct statx st;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE, &st))
		return otherwise;
	return st.stx_size;
}

static void keep(struct jitsymfiles **files, enum jitsymfile which, int fd)
{
	if (fd < 0)
		return;
	if (!*files) {
		*files = xcalloc(1, sizeof(**files));
		for (int i = 0; i < NR_JITSYMFILES; i++)
			(*files)->fds[i] = -1;
	}
	(*files)->fds[which] = fd;
	vec_for_each(&(*files)->marks, mark) /* it may have been there all the time */
		mark->bytes[which] = length_of(fd, 0);
	jitsymfiles_measure(*files, clock_monotonic_ns());
}

static bool lacks(const struct jitsymfiles *files, enum jitsymfile which)
{
	return !files || files->fds[which] < 0;
}

void jitsymfiles_look(struct jitsymfiles **files, struct opener *opener, uint32_t tgid,
		      const struct mappings *mappings, const struct strtab *names)
{
	bool has_memory = false, has_dump = false;

	vec_for_each(&mappings->now, map) {
		const char *path = strtab_get(names, map->name);

		has_memory |= jitsymfiles_is_memory(path);
		has_dump |= is_jitdump(path);
	}
	if (has_memory && lacks(*files, JITSYMFILE_PERF_MAP))
		keep(files, JITSYMFILE_PERF_MAP, open_perf_map(opener, tgid));
	if (has_dump && lacks(*files, JITSYMFILE_JITDUMP))
		keep(files, JITSYMFILE_JITDUMP, open_jitdump(opener, tgid));
}

/* Marks ------------------------------------------------------------------------------------------ */

/* The first and the last stay. */
static void thin_out(struct jitsymfiles *files)
{
	size_t nr = 1;

	for (size_t i = 1; i < files->marks.nr; i++)
		if (i % 2 || i == files->marks.nr - 1)
			files->marks.at[nr++] = files->marks.at[i];
	files->marks.nr = nr;
}

bool jitsymfiles_measure(struct jitsymfiles *files, uint64_t now_ns)
{
	struct jitsymfiles_mark mark = {.time_ns = now_ns, .until_ns = now_ns}, last = {0};
	bool is_same = files->marks.nr, is_shorter = false;

	if (files->marks.nr)
		last = files->marks.at[files->marks.nr - 1];
	for (int i = 0; i < NR_JITSYMFILES; i++) {
		mark.bytes[i] = length_of(files->fds[i], last.bytes[i]);
		is_same &= mark.bytes[i] == last.bytes[i];
		is_shorter |= mark.bytes[i] < last.bytes[i];
	}
	if (is_same) {
		files->marks.at[files->marks.nr - 1].until_ns = now_ns;
		return false;
	}
	if (is_shorter) /* it is being written anew */
		files->marks.nr = 0;
	if (files->marks.nr == JITSYMFILES_MAX_MARKS)
		thin_out(files);
	vec_push(&files->marks, mark);
	return true;
}

const struct jitsymfiles_mark *jitsymfiles_at(const struct jitsymfiles *files, uint64_t time_ns)
{
	size_t i = vec_partition(&files->marks, mark, mark->until_ns < time_ns);

	return &files->marks.at[i < files->marks.nr ? i : files->marks.nr - 1];
}

/* The last mark at which the file was shorter than off; NULL: none. */
static const struct jitsymfiles_mark *mark_before(const struct jitsymfiles *files,
						  enum jitsymfile which, uint64_t off)
{
	size_t i = vec_partition(&files->marks, mark, mark->bytes[which] < off);

	return i ? &files->marks.at[i - 1] : NULL;
}

uint64_t jitsymfiles_since(const struct jitsymfiles *files, enum jitsymfile which, uint64_t off)
{
	const struct jitsymfiles_mark *mark = mark_before(files, which, off);

	return mark ? mark->until_ns + 1 : 0;
}

uint64_t jitsymfiles_before(const struct jitsymfiles *files, enum jitsymfile which, uint64_t off)
{
	const struct jitsymfiles_mark *mark = mark_before(files, which, off);

	return mark ? mark->bytes[which] : 0;
}
