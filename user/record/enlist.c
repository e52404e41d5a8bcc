// SPDX-License-Identifier: BSD-2-Clause
#include "record/enlist.h"

#include "base/log.h"

/* What it mapped before anybody wanted it. */
static void probe_what_is_mapped(struct enlist *enlist, uint32_t tgid)
{
	const struct image *image = tasks_image(enlist->tasks, tgid, 0, UINT64_MAX);

	prober_add_target(enlist->prober, tgid);
	vec_for_each(&image->mappings.now, map)
		prober_on_map(enlist->prober, image->process, map);
}

void enlist_tell(void *ctx, uint32_t tgid, bool wanted)
{
	struct enlist *enlist = ctx;

	if (!wanted) {
		/* A block whose free is not seen would count as in use for good. */
		if (!enlist->prober && session_reject(enlist->session, tgid))
			return; /* there is no room: it is sampled, and left out all the same */
		return;
	}
	if (!enlist->is_running && tasks_snapshot(enlist->tasks, tgid))
		return;
	if (enlist->prober)
		probe_what_is_mapped(enlist, tgid);
	unwinder_follow(enlist->unwinder, tgid, UNWINDER_NOW);
	if (enlist->is_running)
		detail("process %u is profiled, too", tgid);
	if (session_add_target(enlist->session, tgid, false))
		return; /* said */
}
