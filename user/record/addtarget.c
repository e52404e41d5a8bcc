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

/* Side-band events say what changes after the first look. */
static bool is_known(const struct addtarget *addtarget, uint32_t tgid)
{
	return addtarget->is_running || tasks_was_read(addtarget->tasks, tgid) ||
	       !tasks_snapshot(addtarget->tasks, tgid);
}

void addtarget_tell(void *ctx, uint32_t tgid, bool wanted)
{
	struct addtarget *addtarget = ctx;

	if (!wanted) {
		/* Heap: go on, since a block whose free is not seen would count as in use for ever. */
		if (!addtarget->prober && session_reject(addtarget->session, tgid))
			return; /* no room: it is sampled, and its records are left out later */
		addtarget_gone(ctx, tgid);
		return;
	}
	if (!is_known(addtarget, tgid))
		return;
	if (addtarget->prober)
		probe_what_is_mapped(addtarget, tgid);
	tablesync_follow(addtarget->tablesync, tgid, TABLESYNC_NOW);
	if (addtarget->is_running)
		detail("also profiling process %u", tgid);
	if (session_add_target(addtarget->session, tgid, false))
		return; /* printed */
	addtarget_gone(ctx, tgid);
}

void addtarget_undecided(void *ctx, uint32_t tgid)
{
	struct addtarget *addtarget = ctx;

	if (!addtarget->prober)
		session_forget_target(addtarget->session, tgid);
}

/*
 * Its tgid may be another's by now, which BPF has added by itself: that one is not over. Who is about to end has passed BPF's
 * program already, or does without: it allocates nothing any more.
 */
void addtarget_gone(void *ctx, uint32_t tgid)
{
	struct addtarget *addtarget = ctx;

	if (addtarget->is_running && tasks_is_over(addtarget->tasks, tgid))
		session_forget_target(addtarget->session, tgid);
}
