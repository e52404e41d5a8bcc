// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file is identified by its device and inode; it begins at its mapping of offset 0. No file is opened.
 *
 * A thread may end between being found and being asked: then its files are empty, and another one is asked.
 */
#include "inject/places.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process/procfs.h"

#define MAX_ASKED 100 /* threads that end, one after the other */

int places_path(pid_t pid, const char *file, char *path, size_t path_bytes)
{
	uint32_t tid;
	int err = procfs_live_thread("/proc", pid, &tid);

	if (!err)
		snprintf(path, path_bytes, "/proc/%d/task/%u/%s", pid, tid, file);
	return err ? -ESRCH : 0;
}

static bool read_line(char *text, map_fn *fn, void *ctx)
{
	struct map_line line;
	unsigned long inode;
	char device[20];

	if (sscanf(text, "%lx-%lx %4s %lx %19s %lu", &line.start, &line.limit, line.access,
		   &line.offset, device, &inode) != 6)
		return false;
	snprintf(line.file, sizeof(line.file), "%s %lu", device, inode);
	text[strcspn(text, "\n")] = '\0';
	line.path = strchr(text, '/') ? strchr(text, '/') : "";
	line.is_stack = !*line.path && strstr(text, " [stack]");
	fn(ctx, &line);
	return true;
}

/* How many lines it has. */
static size_t read_maps(const char *path, map_fn *fn, void *ctx)
{
	FILE *maps = fopen(path, "re");
	char text[512];
	size_t nr = 0;

	while (maps && fgets(text, sizeof(text), maps)) {
		bool is_whole = strchr(text, '\n');

		nr += read_line(text, fn, ctx);
		while (!is_whole && fgets(text, sizeof(text), maps))
			is_whole = strchr(text, '\n');
	}
	if (maps)
		fclose(maps);
	return nr;
}

int places_maps(pid_t pid, map_fn *fn, void *ctx)
{
	char path[64];

	for (int i = 0; i < MAX_ASKED; i++) {
		int err = places_path(pid, "maps", path, sizeof(path));

		if (err)
			return err;
		if (read_maps(path, fn, ctx))
			return 0;
	}
	return -ESRCH;
}

ssize_t places_read(pid_t tid, uint64_t from, void *to, size_t bytes)
{
	struct iovec local = {to, bytes}, remote = {(void *)from, bytes};

	return process_vm_readv(tid, &local, 1, &remote, 1, 0);
}

/* A search for the start of a file, and for the file at an address. */
struct search {
	uint64_t address;
	char file[40];
	uint64_t base; /* 0: it is not mapped */
};

static void find_file_at(void *ctx, const struct map_line *line)
{
	struct search *search = ctx;

	if (search->address >= line->start && search->address < line->limit)
		memcpy(search->file, line->file, sizeof(search->file));
}

static void find_base(void *ctx, const struct map_line *line)
{
	struct search *search = ctx;

	if (!search->base && !line->offset && !strcmp(search->file, line->file))
		search->base = line->start;
}

void places_file_of(const void *here, char file[40])
{
	struct search search = {.address = (uintptr_t)here};

	places_maps(getpid(), find_file_at, &search);
	memcpy(file, search.file, sizeof(search.file));
}

int places_address(pid_t pid, const void *here, uint64_t *address)
{
	struct search search = {.address = (uintptr_t)here};
	uint64_t own_base;
	int err;

	places_file_of(here, search.file);
	if (!*search.file)
		return -ENOENT;
	places_maps(getpid(), find_base, &search);
	own_base = search.base;
	search.base = 0;
	err = places_maps(pid, find_base, &search);
	if (err || !search.base)
		return err ? err : -ENOENT;
	*address = search.base + ((uintptr_t)here - own_base);
	return 0;
}

const void *places_own_function(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

size_t places_own_function_bytes(const char *name)
{
	const void *own = places_own_function(name);
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!own || !dladdr1(own, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return 0;
	return symbol->st_size;
}

uint64_t places_function(pid_t pid, const char *name)
{
	const void *own = places_own_function(name);
	uint64_t address = 0;

	if (own)
		places_address(pid, own, &address);
	return address;
}

/* Somewhere in the C library. */
struct restorer_search {
	char libc[40];
	const uint8_t *found;
};

static void find_restorer(void *ctx, const struct map_line *line)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	struct restorer_search *search = ctx;

	if (!search->found && line->access[2] == 'x' && !strcmp(search->libc, line->file))
		search->found = memmem((const void *)line->start, line->limit - line->start, code,
				       sizeof(code));
}

uint64_t places_restorer(pid_t pid)
{
	struct restorer_search search = {0};
	uint64_t address = 0;

	places_file_of(places_own_function("dlopen"), search.libc);
	places_maps(getpid(), find_restorer, &search);
	if (search.found)
		places_address(pid, search.found, &address);
	return address;
}
