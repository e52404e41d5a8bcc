// SPDX-License-Identifier: BSD-2-Clause
/*
 * Both settings are of the process as a whole, so they are made once, here, instead of where they are needed.
 */
#include "record/resources.h"

#include <malloc.h>
#include <sys/resource.h>

/* Target executables are held open; the soft limit is often 1,024. */
static void raise_open_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * What is large here (sections, tables under construction) does not live long. By default glibc takes
 * the first large free() for a sign to keep such memory in the heap from then on; a fixed threshold
 * gives it back each time. Nor does the thread that makes tables (tablecache.c) need a heap of its own.
 */
static void give_memory_back(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 256 * 1024);
}

void resources_claim(void)
{
	raise_open_files();
	give_memory_back();
}
