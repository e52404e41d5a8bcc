// SPDX-License-Identifier: BSD-2-Clause
#include "record/chooser.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "process/procfs.h"

#define MOST_SCANS	 8
#define MOST_ANCESTORS	 64 /* looked at, of one process */
#define REVIEW_NS	 NSEC_PER_SEC
#define REVIEWED_AT_ONCE 256

struct candidate {
	uint32_t tgid, parent;
	bool in_family; /* -p means it, or it descends from such a one */
	bool is_judged, is_wanted;
	bool is_over;
};

int chooser_open(struct chooser *chooser, const struct chooser_options *options)
{
	int err;

	*chooser = (struct chooser){.options = *options};
	err = criteria_open(&chooser->criteria, options->proc_root, options->whom);
	return err ? err : criteria_check_names(&chooser->criteria);
}

void chooser_release(struct chooser *chooser)
{
	criteria_release(&chooser->criteria);
	vec_release(&chooser->all);
	hash_release(&chooser->index);
}

bool chooser_chooses(const struct chooser *chooser)
{
	return whom_names(chooser->options.whom) || whom_filters(chooser->options.whom);
}

bool chooser_judges(const struct chooser *chooser)
{
	return chooser->options.whom->names.nr || whom_filters(chooser->options.whom);
}

bool chooser_is_open(const struct chooser *chooser)
{
	const struct whom *whom = chooser->options.whom;

	return whom->names.nr || (!whom->pids.nr && whom_filters(whom));
}

/* Who is known ----------------------------------------------------------------------------------- */

static bool same_tgid(const void *ctx, uint32_t value, const void *key)
{
	const struct chooser *chooser = ctx;

	return chooser->all.at[value].tgid == *(const uint32_t *)key;
}

/* NULL: nothing is known of it. Borrowed until the next one is added. */
static struct candidate *find(const struct chooser *chooser, uint32_t tgid)
{
	uint32_t i = hash_find(&chooser->index, hash_u64(tgid), same_tgid, chooser, &tgid);

	return i == HASH_NONE ? NULL : &chooser->all.at[i];
}

static struct candidate *find_or_add(struct chooser *chooser, uint32_t tgid)
{
	struct candidate *found = find(chooser, tgid);

	if (found)
		return found;
	hash_insert(&chooser->index, hash_u64(tgid), chooser->all.nr);
	vec_push(&chooser->all, (struct candidate){.tgid = tgid});
	return &chooser->all.at[chooser->all.nr - 1];
}

static bool is_root(const struct chooser *chooser, uint32_t tgid)
{
	vec_for_each(&chooser->options.whom->pids, pid)
		if (*pid == tgid)
			return true;
	return false;
}

/* Does it descend from whom -p means? What is found out is noted along the way. */
static bool descends(struct chooser *chooser, const struct candidate *candidate)
{
	uint32_t parents[MOST_ANCESTORS];
	size_t nr = 0;

	while (chooser->options.follow && candidate && !candidate->in_family &&
	       nr < MOST_ANCESTORS) {
		parents[nr++] = candidate->tgid;
		candidate = find(chooser, candidate->parent);
	}
	if (!candidate || !candidate->in_family)
		return false;
	while (nr)
		find(chooser, parents[--nr])->in_family = true;
	return true;
}

/* Judging ---------------------------------------------------------------------------------------- */

/* Of one that is gone nothing is left to be known but its parent, which mostly was of the same kind. */
static bool holds(const struct chooser *chooser, const struct candidate *candidate,
		  const char *comm)
{
	int holds = criteria_hold(&chooser->criteria, candidate->tgid, comm);

	for (int i = 0; holds < 0 && i < MOST_ANCESTORS; i++) {
		candidate = find(chooser, candidate->parent);
		if (!candidate)
			return false;
		if (candidate->is_judged)
			return candidate->is_wanted;
		holds = criteria_hold(&chooser->criteria, candidate->tgid, comm);
	}
	return holds > 0;
}

static bool is_meant(struct chooser *chooser, struct candidate *candidate, const char *comm)
{
	if (!whom_names(chooser->options.whom))
		return true;
	if (!candidate->in_family && criteria_named(&chooser->criteria, candidate->tgid, comm))
		candidate->in_family = true;
	return candidate->in_family || descends(chooser, candidate);
}

static void judge(struct chooser *chooser, struct candidate *candidate, const char *comm)
{
	bool wanted = is_meant(chooser, candidate, comm) && holds(chooser, candidate, comm);
	bool is_news = !candidate->is_judged || candidate->is_wanted != wanted;

	candidate->is_judged = true;
	candidate->is_wanted = wanted;
	if (!is_news || (!wanted && !chooser_judges(chooser)))
		return;
	chooser->nr_wanted += wanted;
	chooser->options.tell(chooser->options.ctx, candidate->tgid, wanted);
}

/* By what it is called now; false: it is gone. */
static bool judge_again(struct chooser *chooser, struct candidate *candidate)
{
	struct proc_stat stat;

	if (procfs_stat(chooser->options.proc_root, candidate->tgid, &stat) ||
	    proc_stat_is_dead(&stat))
		return false;
	judge(chooser, candidate, stat.comm);
	return true;
}

bool chooser_wants(struct chooser *chooser, uint32_t tgid, const char *comm, bool is_current)
{
	struct candidate *candidate = find_or_add(chooser, tgid);
	struct proc_stat stat;

	if (!candidate->parent && !procfs_stat(chooser->options.proc_root, tgid, &stat))
		candidate->parent = stat.parent_tgid; /* nobody announced it */
	if (!is_current)
		return is_meant(chooser, candidate, comm) && holds(chooser, candidate, comm);
	if (!candidate->is_judged)
		judge(chooser, candidate, comm);
	return candidate->is_wanted;
}

/* Those that are there --------------------------------------------------------------------------- */

/* Everybody there is, and who forked whom. */
static void note_all(struct chooser *chooser, const uint32_t *tgids, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct candidate *candidate;
		struct proc_stat stat;

		if (tgids[i] == (uint32_t)getpid() ||
		    procfs_stat(chooser->options.proc_root, tgids[i], &stat) ||
		    proc_stat_is_dead(&stat))
			continue;
		candidate = find_or_add(chooser, tgids[i]);
		candidate->parent = stat.parent_tgid;
		if (is_root(chooser, tgids[i]) ||
		    (!stat.is_kernel_thread && !candidate->in_family &&
		     criteria_named(&chooser->criteria, tgids[i], stat.comm)))
			candidate->in_family = true;
	}
}

int chooser_scan(struct chooser *chooser)
{
	size_t nr_before = 0;

	for (int scan = 0; scan < MOST_SCANS && (!scan || chooser->all.nr > nr_before); scan++) {
		uint32_t *tgids scoped(freep) = NULL;
		size_t nr;
		int err = procfs_list(chooser->options.proc_root, &tgids, &nr);

		if (err)
			return err;
		nr_before = chooser->all.nr;
		note_all(chooser, tgids, nr);
		for (size_t i = 0; i < chooser->all.nr; i++) {
			struct candidate *candidate = &chooser->all.at[i];

			if (!candidate->is_judged)
				candidate->is_over = !judge_again(chooser, candidate);
		}
	}
	return 0;
}

void chooser_review(struct chooser *chooser, uint64_t now_ns)
{
	size_t nr = chooser->all.nr < REVIEWED_AT_ONCE ? chooser->all.nr : REVIEWED_AT_ONCE;

	if (!criteria_change(&chooser->criteria) || now_ns < chooser->reviewed_ns + REVIEW_NS)
		return;
	chooser->reviewed_ns = now_ns;
	for (size_t i = 0; i < nr; i++) {
		struct candidate *candidate =
			&chooser->all.at[chooser->nr_reviewed++ % chooser->all.nr];

		if (candidate->is_judged && !candidate->is_over)
			candidate->is_over = !judge_again(chooser, candidate);
	}
}

/* Those that come -------------------------------------------------------------------------------- */

static void on_fork(struct chooser *chooser, const struct task_event *event)
{
	const struct candidate *parent = find(chooser, event->parent_tgid);
	bool in_family = chooser->options.follow && parent && parent->in_family;
	struct candidate *child = find(chooser, event->tgid);

	/* A scan may have met it before its fork is told of. */
	if (child && !child->is_over && child->parent == event->parent_tgid)
		return;
	if (!child && !in_family && !chooser_judges(chooser))
		return;
	child = find_or_add(chooser, event->tgid);
	*child = (struct candidate){
		.tgid = event->tgid, .parent = event->parent_tgid, .in_family = in_family};
	if (chooser->options.eager || !chooser_judges(chooser))
		judge_again(chooser, child);
}

/*
 * An exec, or a name by prctl(): it may be another one now. Whom -p means by name is noted at once: its
 * children belong to it, whether it is ever sampled itself or not.
 */
static void on_name(struct chooser *chooser, const struct task_event *event)
{
	struct candidate *candidate = chooser_judges(chooser) ? find_or_add(chooser, event->tgid)
							      : find(chooser, event->tgid);

	if (!candidate)
		return;
	if (!candidate->in_family)
		candidate->in_family = criteria_named(&chooser->criteria, event->tgid, event->comm);
	if (event->kind == TASK_EXEC && !candidate->is_wanted)
		candidate->is_judged = false; /* BPF has forgotten it, too */
	if (candidate->is_judged || chooser->options.eager)
		judge(chooser, candidate, event->comm);
}

void chooser_event(struct chooser *chooser, const struct task_event *event)
{
	struct candidate *candidate;

	switch (event->kind) {
	case TASK_FORK:
		on_fork(chooser, event);
		break;
	case TASK_EXEC:
		on_name(chooser, event);
		break;
	case TASK_COMM:
		if (event->tid == event->tgid)
			on_name(chooser, event);
		break;
	case TASK_EXIT:
		candidate = event->tid == event->tgid ? find(chooser, event->tgid) : NULL;
		if (candidate)
			candidate->is_over = true;
		break;
	default:
		break;
	}
}
