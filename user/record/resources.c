// SPDX-License-Identifier: BSD-2-Clause
/*
 * These settings hold for the whole process, so they are made once, here, instead of where they are needed. The values
 * that a launched command should inherit are saved first.
 */
#include "record/resources.h"

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

/*
 * Target executables are held open, and the soft limit of files is often 1,024. Before Linux 5.11 the
 * memory of BPF maps counts as locked memory.
 */
static struct {
	int resource;
	bool is_changed;
	struct rlimit before;
} limits[] = {{.resource = RLIMIT_NOFILE}, {.resource = RLIMIT_MEMLOCK}};

#define NR_LIMITS (sizeof(limits) / sizeof(limits[0]))

static void raise_limits(void)
{
	for (size_t i = 0; i < NR_LIMITS; i++) {
		struct rlimit limit;

		if (getrlimit(limits[i].resource, &limits[i].before))
			continue;
		limit.rlim_cur = limit.rlim_max = limits[i].before.rlim_max;
		if (limits[i].resource == RLIMIT_MEMLOCK) /* refused without CAP_SYS_RESOURCE */
			limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
		limits[i].is_changed = !setrlimit(limits[i].resource, &limit);
	}
}

/*
 * What is large here (sections, tables under construction) does not live long. By default glibc takes
 * the first large free() for a sign to keep such memory in the heap from then on; a fixed threshold
 * gives it back each time. Nor does a thread that writes files need a heap of its own.
 */
static void give_memory_back(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 256 * 1024);
}

void resources_claim(void)
{
	raise_limits();
	give_memory_back();
}

void resources_give_back(void)
{
	for (size_t i = 0; i < NR_LIMITS; i++)
		if (limits[i].is_changed)
			setrlimit(limits[i].resource, &limits[i].before);
}
