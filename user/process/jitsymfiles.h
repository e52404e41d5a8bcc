/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files in which a process writes its JIT symbols, held open while the process lives.
 *
 *	perf map	/tmp/perf-PID.map, PID in its own namespaces: lines with start, size and name
 *	jitdump		jit-PID.dump, which it maps executable so that profilers learn of it
 *
 * A process may write both only at its end, and delete them then: so they are opened early and read late. How they grew
 * meanwhile is noted, since a perf map does not say since when its code was there.
 */
#ifndef CPROF_PROCESS_JITSYMFILES_H
#define CPROF_PROCESS_JITSYMFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/vec.h"
#include "process/mapping.h"

struct opener; /* process/opener.h */

enum jitsymfile {
	JITSYMFILE_PERF_MAP,
	JITSYMFILE_JITDUMP,
	NR_JITSYMFILES
};

#define JITSYMFILES_MAX_MARKS 4096 /* where there are more, every second is forgotten */

/* How long the files were from one look to another. */
struct jitsymfiles_mark {
	uint64_t time_ns, until_ns, bytes[NR_JITSYMFILES];
};

struct jitsymfiles {
	int fds[NR_JITSYMFILES]; /* -1: not found yet */
	/* At least one. In each they are longer than in the one before, and what is more may have come at its until_ns. */
	vec_of(struct jitsymfiles_mark) marks;
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
/* Notes how long the files are at now_ns. Returns whether that has changed. */
bool jitsymfiles_measure(struct jitsymfiles *files, uint64_t now_ns);
/* The mark of time_ns, the next one where that is between two, else the last. Borrowed until the next measure. */
const struct jitsymfiles_mark *jitsymfiles_at(const struct jitsymfiles *files, uint64_t time_ns);
/* When the byte before off of a file came, at the earliest: 0, if it was there when the file was found. */
uint64_t jitsymfiles_since(const struct jitsymfiles *files, enum jitsymfile which, uint64_t off);
/* How long the file was before it grew over off; 0: it was that long when it was found. */
uint64_t jitsymfiles_before(const struct jitsymfiles *files, enum jitsymfile which, uint64_t off);

#endif
