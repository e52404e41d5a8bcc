// SPDX-License-Identifier: BSD-2-Clause
/*
 * The order matters: mappings first, then heap probes, then unwind tables, and BPF's list of targets last. So the first
 * sample of the process finds its tables requested, and probes that are already there count nothing before all
 * allocators of the process have theirs.
 */
#include "record/addtarget.h"

#include "base/log.h"

/* The mappings that it has already. */
static void probe_what_is_mapped(struct addtarget *addtarget, uint32_t tgid)
{
	const struct image *image = tasks_image(addtarget->tasks, tgid, 0, UINT64_MAX);

	prober_add_target(addtarget->prober, tgid);
	vec_for_each(&image->mappings.now, map)
		prober_on_map(addtarget->prober, image->process, map);
	if (addtarget->is_running)
		prober_work(addtarget->prober);
}

void addtarget_tell(void *ctx, uint32_t tgid, bool wanted)
{
	struct addtarget *addtarget = ctx;

	if (!wanted) {
		/* Heap: go on, since a block whose free is not seen would count as in use for ever. */
		if (!addtarget->prober && session_reject(addtarget->session, tgid))
			return; /* no room: it is sampled, and its records are left out later */
		return;
	}
	if (!addtarget->is_running && tasks_snapshot(addtarget->tasks, tgid))
		return;
	if (addtarget->prober)
		probe_what_is_mapped(addtarget, tgid);
	tablesync_follow(addtarget->tablesync, tgid, TABLESYNC_NOW);
	if (addtarget->is_running)
		detail("also profiling process %u", tgid);
	if (session_add_target(addtarget->session, tgid, false))
		return; /* printed */
}
