/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides whether a command can sample its allocations by itself, and makes the environment in which it does.
 *
 * It does with libcprof-heap.so (inside/), which the loader maps before all other libraries if LD_PRELOAD names it. The
 * command's children inherit that.
 */
#ifndef CPROF_RECORD_PRELOAD_H
#define CPROF_RECORD_PRELOAD_H

#include <stddef.h>
#include <stdint.h>

#include "record/elfdeps.h"

struct preload {
	char *path; /* of the library; NULL: the command cannot */
	char **env; /* NULL-terminated, with strings that others own, but for the first nr_own */
	size_t nr_own;
	char reason[256];
};

/*
 * command is searched for as execvp() does; its libraries are asked of its loader, as by elfdeps_of(). -ENOTSUP: it
 * cannot, and reason says why. -ENOENT: there is no such command. Release in any case.
 */
int preload_choose(struct preload *preload, const char *command, uint64_t rate_bytes,
		   const struct elfdeps_helpers *helpers);
/* The same for a process that runs: finds the library alone, sets path. -ENOTSUP, and reason. */
int preload_find(struct preload *preload);
/* Zeroed is fine. */
void preload_release(struct preload *preload);

#endif
