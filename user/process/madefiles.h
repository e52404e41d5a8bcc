/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files in which a process tells what code it made at run time, held open while the process lives.
 *
 *	perf map	/tmp/perf-PID.map, PID in its own namespaces: lines with start, size and name
 *	jitdump		jit-PID.dump, which it maps executable so that profilers learn of it
 *
 * A process may write both only at its end, and delete them then: so they are opened early and read late.
 */
#ifndef CPROF_PROCESS_MADEFILES_H
#define CPROF_PROCESS_MADEFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strtab.h"
#include "process/mapping.h"

struct opener; /* process/opener.h */

enum madefile {
	MADEFILE_PERF_MAP,
	MADEFILE_JITDUMP,
	NR_MADEFILES
};

struct madefiles {
	int fds[NR_MADEFILES]; /* -1: not found yet */
};

void madefiles_free(struct madefiles *made); /* NULL is fine */

/*
 * Looks for those that *made (NULL: none yet) does not have, if mappings show that process tgid has code in anonymous memory.
 * opener: NULL: this process opens them. Nothing is said of what is not there.
 */
void madefiles_look(struct madefiles **made, struct opener *opener, uint32_t tgid,
		    const struct mappings *mappings, const struct strtab *names);

/* Is what is mapped under this path memory that a process may have made code in: not a file at all, or one of memfd_create(2)? */
bool madefiles_is_memory(const char *path);
/* How long the files are by now, together: they have news where this has changed. */
uint64_t madefiles_bytes(const struct madefiles *made);

#endif
