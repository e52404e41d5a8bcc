/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A snapshot of one process from /proc: its stat and its executable mappings, with their files opened.
 *
 * process/task.h builds its processes from snapshots where no event announced them.
 */
#ifndef CPROF_PROCESS_SNAPSHOT_H
#define CPROF_PROCESS_SNAPSHOT_H

#include <stdint.h>

#include "base/strtab.h"
#include "base/vec.h"
#include "process/mapping.h"
#include "process/files.h"
#include "process/procfs.h"
#include "stream.h"

struct snapshot {
	struct proc_stat stat;
	vec_of(struct mapping) maps; /* since_ns 0; sorted unless the process changed meanwhile */
	int maps_error;		     /* why there are none: 0 or -errno */
};

/*
 * Takes a snapshot of tgid, for snapshot_release(). Files are opened in files, names interned in names.
 * -ESRCH: there is no such process, it is a zombie, or its tgid was reused in between. Where the mappings
 * cannot be read, that is in snapshot->maps_error, and the call succeeds.
 */
int snapshot_take(const char *proc_root, uint32_t tgid, struct files *files, struct strtab *names,
		  struct snapshot *snapshot);
void snapshot_release(struct snapshot *snapshot);

/* The mapping for an event: its file opened (through /proc/ID, a tgid or tid), its name interned. */
struct mapping snapshot_mapping(const struct map_event *map, uint32_t id, struct files *files,
				struct strtab *names);

#endif
