/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files in which a process writes its JIT symbols, held open while the process lives.
 *
 *	perf map	/tmp/perf-PID.map, PID in its own namespaces: lines with start, size and name
 *	jitdump		jit-PID.dump, which it maps executable so that profilers learn of it
 *
 * A process may write both only at its end, and delete them then: so they are opened early and read late.
 */
#ifndef CPROF_PROCESS_JITSYMFILES_H
#define CPROF_PROCESS_JITSYMFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strtab.h"
#include "process/mapping.h"

struct opener; /* process/opener.h */

enum jitsymfile {
	JITSYMFILE_PERF_MAP,
	JITSYMFILE_JITDUMP,
	NR_JITSYMFILES
};

struct jitsymfiles {
	int fds[NR_JITSYMFILES]; /* -1: not found yet */
};

void jitsymfiles_free(struct jitsymfiles *files); /* NULL is fine */

/*
 * Looks for those that *files (NULL: none yet) does not have, if mappings show that process tgid has code in anonymous memory.
 * opener: NULL: this process opens them. Nothing is said of what is not there.
 */
void jitsymfiles_look(struct jitsymfiles **files, struct opener *opener, uint32_t tgid,
		      const struct mappings *mappings, const struct strtab *names);

/* Is what is mapped under this path memory that may hold JIT code: not a file at all, or one of memfd_create(2)? */
bool jitsymfiles_is_memory(const char *path);
/* How long the files are by now, together: they have news where this has changed. */
uint64_t jitsymfiles_bytes(const struct jitsymfiles *files);

#endif
