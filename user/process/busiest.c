// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two looks at all of /proc/PID/stat, joined by (tgid, start time), and a sort by the difference.
 *
 * Rejected: /proc/PID/schedstat, which counts in nanoseconds but covers only the first thread.
 */
#include "process/busiest.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "process/procfs.h"

int busiest_look(struct busiest *busiest, const char *proc_root)
{
	uint32_t *tgids scoped(freep) = NULL;
	struct proc_stat stat;
	size_t nr;
	int err = procfs_list(proc_root, &tgids, &nr); /* sorted */

	if (err)
		return err;
	busiest->before.nr = 0;
	for (size_t i = 0; i < nr; i++)
		if (!procfs_stat(proc_root, tgids[i], &stat))
			vec_push(&busiest->before,
				 (struct busy_process){tgids[i], stat.start_ticks, stat.cpu_ticks});
	return 0;
}

static int by_tgid(const void *a, const void *b)
{
	uint32_t x = ((const struct busy_process *)a)->tgid;
	uint32_t y = ((const struct busy_process *)b)->tgid;

	return x < y ? -1 : x > y;
}

/* What it had been on a CPU at the first look. */
static uint64_t ticks_before(const struct busiest *busiest, const struct busy_process *process)
{
	const struct busy_process *before = NULL;

	if (busiest->before.nr)
		before = bsearch(process, busiest->before.at, busiest->before.nr,
				 sizeof(busiest->before.at[0]), by_tgid);
	return before && before->start_ticks == process->start_ticks ? before->cpu_ticks : 0;
}

struct ranked {
	uint32_t tgid;
	uint64_t lately, ever;
};

/* The busiest first. */
static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->lately != y->lately)
		return x->lately > y->lately ? -1 : 1;
	if (x->ever != y->ever)
		return x->ever > y->ever ? -1 : 1;
	return x->tgid < y->tgid ? -1 : x->tgid > y->tgid;
}

int busiest_order(const struct busiest *busiest, const char *proc_root, uint32_t **tgids,
		  size_t *nr)
{
	struct busiest now scoped(busiest_release) = {0};
	struct ranked *ranked scoped(freep) = NULL;
	int err = busiest_look(&now, proc_root);

	if (err)
		return err;
	ranked = xcalloc(now.before.nr + 1, sizeof(*ranked));
	for (size_t i = 0; i < now.before.nr; i++) {
		const struct busy_process *process = &now.before.at[i];

		ranked[i] = (struct ranked){process->tgid,
					    process->cpu_ticks - ticks_before(busiest, process),
					    process->cpu_ticks};
	}
	qsort(ranked, now.before.nr, sizeof(*ranked), by_rank);
	*nr = now.before.nr;
	*tgids = xcalloc(*nr + 1, sizeof(**tgids));
	for (size_t i = 0; i < *nr; i++)
		(*tgids)[i] = ranked[i].tgid;
	return 0;
}

void busiest_release(struct busiest *busiest)
{
	vec_release(&busiest->before);
}
