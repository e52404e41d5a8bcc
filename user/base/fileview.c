// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where a page of a view cannot be had (the file has become shorter, the disk fails), the handler maps zeros over it and over
 * all pages of the view behind it, and the access is repeated. mmap(2) is a plain system call, safe in a handler. SIGBUS for any other
 * reason ends the process, as it does without a handler.
 */
#include "base/fileview.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_VIEWS 256

/* Whole pages. limit 0: the place is free. */
static struct view {
	uintptr_t start, limit;
} views[MAX_VIEWS];

static bool is_guarded;
static uintptr_t page_bytes;

static void on_lost_page(int signal_nr, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(page_bytes - 1);

	(void)context;
	for (size_t i = 0; i < MAX_VIEWS; i++) {
		if (page < views[i].start || page >= views[i].limit)
			continue;
		if (mmap((void *)page, views[i].limit - page, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
			return;
	}
	signal(signal_nr, SIG_DFL); /* the access that is repeated now ends the process */
}

int fileview_guard(void)
{
	struct sigaction action = {.sa_sigaction = on_lost_page, .sa_flags = SA_SIGINFO};

	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, &action, NULL))
		return -errno;
	is_guarded = true;
	return 0;
}

static struct view *find_view(uintptr_t start, uintptr_t limit)
{
	for (size_t i = 0; i < MAX_VIEWS; i++)
		if (views[i].start == start && views[i].limit == limit)
			return &views[i];
	return NULL;
}

const void *fileview_open(int fd, uint64_t off, size_t len_bytes)
{
	struct view *view = is_guarded && len_bytes ? find_view(0, 0) : NULL;
	uint64_t skipped_bytes = off & (page_bytes - 1);
	size_t map_bytes;
	void *bytes;

	if (!view || __builtin_add_overflow(len_bytes, skipped_bytes + page_bytes - 1, &map_bytes))
		return NULL;
	map_bytes &= ~(page_bytes - 1);
	bytes = mmap(NULL, map_bytes, PROT_READ, MAP_PRIVATE, fd, (off_t)(off - skipped_bytes));
	if (bytes == MAP_FAILED)
		return NULL;
	*view = (struct view){(uintptr_t)bytes, (uintptr_t)bytes + map_bytes};
	return (char *)bytes + skipped_bytes;
}

void fileview_close(const void *bytes, size_t len_bytes)
{
	uintptr_t start = (uintptr_t)bytes & ~(page_bytes - 1);
	uintptr_t limit = ((uintptr_t)bytes + len_bytes + page_bytes - 1) & ~(page_bytes - 1);
	struct view *view = find_view(start, limit);

	if (!view)
		return;
	munmap((void *)start, limit - start);
	*view = (struct view){0, 0};
}
