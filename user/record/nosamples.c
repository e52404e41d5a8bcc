// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel's scheduler statistics (time on a CPU, time waiting for one) are read when sampling begins and again when
 * an explanation is needed; the difference tells idle from starved from too short for a tick. The descendants of the
 * target are noted at the start too, so that one that was busy meanwhile can be named.
 */
#include "record/nosamples.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "process/freezer.h"
#include "process/procfs.h"

#define MOST_CHILDREN 4096
#define BUSY_NS	      (NSEC_PER_SEC / 50)

/* A process that is ready to run waits for microseconds, unless others have the CPUs. */
static bool has_waited(uint64_t wait_ns, uint64_t duration_ns)
{
	return wait_ns > duration_ns / 100 && wait_ns > NSEC_PER_SEC / 100;
}

/*
 * How long it was ready to run and had no CPU. The kernel accounts for a wait when it is over: one that
 * began before sampling counts in part, and one that goes on is not in it at all. Who was runnable at the
 * start and has not gone to sleep since waited whenever it did not run.
 */
static uint64_t waited_ns(const struct traits_time *before, const struct traits_time *now,
			  uint64_t duration_ns)
{
	uint64_t run_ns = now->run_ns - before->run_ns, wait_ns = now->wait_ns - before->wait_ns;

	if (before->is_runnable && now->nr_sleeps == before->nr_sleeps)
		wait_ns = duration_ns > run_ns ? duration_ns - run_ns : 0;
	return wait_ns < duration_ns ? wait_ns : duration_ns;
}

struct family {
	uint32_t *tgids, *parents;
	size_t nr;
};

static bool descends(const struct family *family, size_t i, uint32_t ancestor)
{
	uint32_t parent = family->parents[i];

	for (int depth = 0; depth < 64 && parent; depth++) {
		size_t low = 0, high = family->nr;

		if (parent == ancestor)
			return true;
		while (low < high) { /* tgids are sorted */
			size_t mid = low + (high - low) / 2;

			if (family->tgids[mid] < parent)
				low = mid + 1;
			else
				high = mid;
		}
		parent = low < family->nr && family->tgids[low] == parent ? family->parents[low]
									  : 0;
	}
	return false;
}

static void note_children(struct nosamples *nosamples)
{
	uint32_t *tgids scoped(freep) = NULL, *parents scoped(freep) = NULL;
	struct proc_stat stat;
	struct family family;
	size_t nr;

	if (procfs_list(nosamples->proc_root, &tgids, &nr))
		return;
	parents = xcalloc(nr + 1, sizeof(*parents));
	for (size_t i = 0; i < nr; i++)
		if (!procfs_stat(nosamples->proc_root, tgids[i], &stat))
			parents[i] = stat.parent_tgid;
	family = (struct family){tgids, parents, nr};
	for (size_t i = 0; i < nr && nosamples->children.nr < MOST_CHILDREN; i++) {
		struct nosamples_child child = {.tgid = tgids[i]};

		if (descends(&family, i, nosamples->tgid) &&
		    !traits_time(nosamples->proc_root, child.tgid, &child.time))
			vec_push(&nosamples->children, child);
	}
}

void nosamples_begin(struct nosamples *nosamples, const char *proc_root, uint32_t tgid,
		     bool children)
{
	*nosamples = (struct nosamples){.proc_root = proc_root,
					.cgroup_root = "/sys/fs/cgroup",
					.tgid = tgid,
					.with_children = children};
	if (!tgid || traits_time(proc_root, tgid, &nosamples->time))
		nosamples->tgid = 0;
	else if (children)
		note_children(nosamples);
}

void nosamples_release(struct nosamples *nosamples)
{
	vec_release(&nosamples->children);
}

static bool is_stopped(const struct nosamples *nosamples)
{
	struct proc_stat stat;

	return !procfs_stat(nosamples->proc_root, nosamples->tgid, &stat) &&
	       (stat.state == 'T' || stat.state == 't');
}

/* Frozen comes first: a frozen process does not go on by SIGCONT. */
char *nosamples_halted(const struct nosamples *nosamples, char *out, size_t out_bytes)
{
	struct freezer freezer;
	char setting[NOSAMPLES_BYTES / 2];

	*out = '\0';
	if (nosamples->tgid &&
	    freezer_find(nosamples->proc_root, nosamples->cgroup_root, nosamples->tgid, &freezer))
		snprintf(out, out_bytes,
			 "it is frozen by its control group, %s written to %s lets it go on",
			 freezer.thaws, text_escape(freezer.setting, setting, sizeof(setting)));
	else if (nosamples->tgid && is_stopped(nosamples))
		snprintf(out, out_bytes,
			 "it is stopped (SIGSTOP or a debugger), kill -CONT %u lets it go on",
			 nosamples->tgid);
	return out;
}

char *nosamples_words(const struct nosamples *nosamples, uint64_t duration_ns, char *out,
		      size_t out_bytes)
{
	char halted[NOSAMPLES_BYTES - 64];
	struct traits_time now;
	uint64_t run_ns, wait_ns;

	if (!nosamples->tgid || traits_time(nosamples->proc_root, nosamples->tgid, &now) ||
	    now.run_ns < nosamples->time.run_ns || now.wait_ns < nosamples->time.wait_ns) {
		snprintf(out, out_bytes, "was not on a CPU at any tick in %.1f s",
			 duration_ns / 1e9);
		return out;
	}
	run_ns = now.run_ns - nosamples->time.run_ns;
	wait_ns = waited_ns(&nosamples->time, &now, duration_ns);
	if (has_waited(wait_ns, duration_ns))
		snprintf(out, out_bytes,
			 "was not on a CPU at any tick in %.1f s: it waited for a CPU for %.1f s "
			 "while others ran, and ran for %.1f ms",
			 duration_ns / 1e9, wait_ns / 1e9, run_ns / 1e6);
	else if (run_ns > duration_ns / 1000)
		snprintf(out, out_bytes,
			 "was not on a CPU at any tick in %.1f s: it ran for %.1f ms, between "
			 "ticks; use a higher -F",
			 duration_ns / 1e9, run_ns / 1e6);
	else if (*nosamples_halted(nosamples, halted, sizeof(halted)))
		snprintf(out, out_bytes, "was not on a CPU at any tick in %.1f s: %s",
			 duration_ns / 1e9, halted);
	else
		snprintf(out, out_bytes,
			 "was not on a CPU at any tick in %.1f s (idle or waiting): off-CPU time "
			 "is not "
			 "sampled",
			 duration_ns / 1e9);
	return out;
}

/* 0: it was not there before. */
static uint64_t ran_before(const struct nosamples *nosamples, uint32_t tgid)
{
	vec_for_each(&nosamples->children, child)
		if (child->tgid == tgid)
			return child->time.run_ns;
	return 0;
}

char *nosamples_busy_child(const struct nosamples *nosamples, const char *option, char *out,
			   size_t out_bytes)
{
	struct nosamples now_known = {.proc_root = nosamples->proc_root, .tgid = nosamples->tgid};
	uint64_t most_ns = BUSY_NS;
	struct proc_stat stat;
	uint32_t busiest = 0;
	char comm[4 * COMM_BYTES];

	*out = '\0';
	if (nosamples->tgid && nosamples->with_children)
		note_children(&now_known);
	vec_for_each(&now_known.children, child) {
		uint64_t run_ns = child->time.run_ns - ran_before(nosamples, child->tgid);

		if (child->time.run_ns < run_ns || run_ns < most_ns)
			continue;
		most_ns = run_ns;
		busiest = child->tgid;
	}
	nosamples_release(&now_known);
	if (busiest && !procfs_stat(nosamples->proc_root, busiest, &stat))
		snprintf(out, out_bytes, "Its child %u (%s) ran for %.1f s: %s, or -p %u", busiest,
			 text_escape(stat.comm, comm, sizeof(comm)), most_ns / 1e9, option,
			 busiest);
	return out;
}
