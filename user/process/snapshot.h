/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One look at one process: its stat and its executable mappings, with the files behind them opened.
 * What task.c makes its processes of, where no event announced them.
 */
#ifndef CPROF_PROCESS_SNAPSHOT_H
#define CPROF_PROCESS_SNAPSHOT_H

#include <stdint.h>

#include "base/strtab.h"
#include "base/vec.h"
#include "process/mapping.h"
#include "process/opener.h"
#include "process/procfs.h"
#include "stream.h"

struct snapshot {
	struct proc_stat stat;
	vec_of(struct mapping) maps; /* since_ns 0; sorted unless the process changed meanwhile */
	int maps_error;		     /* why there are none: 0 or -errno */
};

/*
 * -ESRCH: there is no such process, nothing of it runs any more, or it is another one by the end of
 * the look. Mappings that may not be read are in maps_error.
 */
int snapshot_take(const char *proc_root, uint32_t tgid, struct files *files, struct strtab *names,
		  struct snapshot *snapshot);
void snapshot_release(struct snapshot *snapshot);

/* A mapping as it is kept: its file opened (in /proc/ID, a tgid or tid) and its name interned. */
struct mapping snapshot_mapping(const struct map_event *map, uint32_t id, struct files *files,
				struct strtab *names);

#endif
