// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every process that was seen is a candidate in a table by tgid, with its parent and the last verdict on it; verdicts
 * are kept because each costs reads of /proc. An exec, a new name or a review judges anew. A candidate stays in the
 * table after its process ended, since its descendants still belong to the family; a fork that reuses the tgid
 * replaces it.
 */
#include "record/targetset.h"

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
	bool in_family; /* named by -p, or a descendant of such a process */
	bool is_judged, is_wanted;
	bool is_over;
};

int targetset_open(struct targetset *targetset, const struct targetset_options *options)
{
	int err;

	*targetset = (struct targetset){.options = *options};
	err = criteria_open(&targetset->criteria, options->proc_root, options->opener,
			    options->spec);
	return err ? err : criteria_check_names(&targetset->criteria);
}

void targetset_release(struct targetset *targetset)
{
	criteria_release(&targetset->criteria);
	vec_release(&targetset->all);
	hash_release(&targetset->index);
}

bool targetset_chooses(const struct targetset *targetset)
{
	return targetspec_names(targetset->options.spec) ||
	       targetspec_filters(targetset->options.spec);
}

bool targetset_judges(const struct targetset *targetset)
{
	return targetset->options.spec->names.nr || targetspec_filters(targetset->options.spec);
}

bool targetset_is_open(const struct targetset *targetset)
{
	const struct targetspec *spec = targetset->options.spec;

	return spec->names.nr || (!spec->pids.nr && targetspec_filters(spec));
}

/* Candidates ------------------------------------------------------------------------------------- */

static bool same_tgid(const void *ctx, uint32_t value, const void *key)
{
	const struct targetset *targetset = ctx;

	return targetset->all.at[value].tgid == *(const uint32_t *)key;
}

/* NULL: nothing is known about it. Borrowed until the next one is added. */
static struct candidate *find(const struct targetset *targetset, uint32_t tgid)
{
	uint32_t i = hash_find(&targetset->index, hash_u64(tgid), same_tgid, targetset, &tgid);

	return i == HASH_NONE ? NULL : &targetset->all.at[i];
}

static struct candidate *find_or_add(struct targetset *targetset, uint32_t tgid)
{
	struct candidate *found = find(targetset, tgid);

	if (found)
		return found;
	hash_insert(&targetset->index, hash_u64(tgid), targetset->all.nr);
	vec_push(&targetset->all, (struct candidate){.tgid = tgid});
	return &targetset->all.at[targetset->all.nr - 1];
}

static bool is_root(const struct targetset *targetset, uint32_t tgid)
{
	vec_for_each(&targetset->options.spec->pids, pid)
		if (*pid == tgid)
			return true;
	return false;
}

/* Does it descend from a process of -p? Marks its ancestors on the way, so that each is searched once. */
static bool descends(struct targetset *targetset, struct candidate *candidate)
{
	struct candidate *line[MOST_ANCESTORS];
	size_t nr = 0;

	while (targetset->options.follow && candidate && !candidate->in_family &&
	       nr < MOST_ANCESTORS) {
		line[nr++] = candidate;
		candidate = find(targetset, candidate->parent);
	}
	if (!candidate || !candidate->in_family)
		return false;
	while (nr)
		line[--nr]->in_family = true;
	return true;
}

/* Judging ---------------------------------------------------------------------------------------- */

/* For a process that has ended only the parent is known: its verdict is used. */
static bool holds(const struct targetset *targetset, const struct candidate *candidate,
		  const char *comm)
{
	int holds = criteria_hold(&targetset->criteria, candidate->tgid, comm);

	for (int i = 0; holds < 0 && i < MOST_ANCESTORS; i++) {
		candidate = find(targetset, candidate->parent);
		if (!candidate)
			return false;
		if (candidate->is_judged)
			return candidate->is_wanted;
		holds = criteria_hold(&targetset->criteria, candidate->tgid, comm);
	}
	return holds > 0;
}

static bool is_meant(struct targetset *targetset, struct candidate *candidate, const char *comm)
{
	if (!targetspec_names(targetset->options.spec))
		return true;
	if (!candidate->in_family && criteria_named(&targetset->criteria, candidate->tgid, comm))
		candidate->in_family = true;
	return candidate->in_family || descends(targetset, candidate);
}

/*
 * A rejection lasts until the process calls exec. If it calls exec after the event that `comm` comes from, but before the
 * rejection, the rejection would never end. So its name is read from /proc afterwards, and a rejection that does not hold for it
 * is taken back. The verdict stays until the exec is reported, since samples of the older image may follow.
 */
static void reject(struct targetset *targetset, struct candidate *candidate)
{
	struct proc_stat stat;

	targetset->options.tell(targetset->options.ctx, candidate->tgid, false);
	if (!procfs_stat(targetset->options.proc_root, candidate->tgid, &stat) &&
	    is_meant(targetset, candidate, stat.comm) && holds(targetset, candidate, stat.comm))
		targetset->options.undecided(targetset->options.ctx, candidate->tgid);
}

static void judge(struct targetset *targetset, struct candidate *candidate, const char *comm)
{
	bool wanted = is_meant(targetset, candidate, comm) && holds(targetset, candidate, comm);
	bool is_news = !candidate->is_judged || candidate->is_wanted != wanted;

	candidate->is_judged = true;
	candidate->is_wanted = wanted;
	if (!is_news || (!wanted && !targetset_judges(targetset)))
		return;
	if (!wanted) {
		reject(targetset, candidate);
		return;
	}
	targetset->nr_wanted++;
	targetset->options.tell(targetset->options.ctx, candidate->tgid, true);
}

/* Decides by its present name; false: it is gone. */
static bool judge_again(struct targetset *targetset, struct candidate *candidate)
{
	struct proc_stat stat;

	if (procfs_stat(targetset->options.proc_root, candidate->tgid, &stat) ||
	    proc_stat_is_dead(&stat))
		return false;
	judge(targetset, candidate, stat.comm);
	return true;
}

bool targetset_wants(struct targetset *targetset, uint32_t tgid, const char *comm, bool is_current)
{
	struct candidate *candidate = find_or_add(targetset, tgid);
	struct proc_stat stat;

	if (!candidate->parent && !procfs_stat(targetset->options.proc_root, tgid, &stat))
		candidate->parent = stat.parent_tgid; /* nobody announced it */
	if (!is_current)
		return is_meant(targetset, candidate, comm) && holds(targetset, candidate, comm);
	if (!candidate->is_judged)
		judge(targetset, candidate, comm);
	return candidate->is_wanted;
}

/* Scans ------------------------------------------------------------------------------------------ */

/* Notes every process that is not known, and its parent. */
static void note_all(struct targetset *targetset, const uint32_t *tgids, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct candidate *candidate = find(targetset, tgids[i]);
		struct proc_stat stat;

		if (tgids[i] == (uint32_t)getpid() || (candidate && !candidate->is_over) ||
		    procfs_stat(targetset->options.proc_root, tgids[i], &stat) ||
		    proc_stat_is_dead(&stat))
			continue;
		candidate = find_or_add(targetset, tgids[i]);
		candidate->parent = stat.parent_tgid;
		if (is_root(targetset, tgids[i]) ||
		    (!stat.is_kernel_thread && !candidate->in_family &&
		     criteria_named(&targetset->criteria, tgids[i], stat.comm)))
			candidate->in_family = true;
	}
}

/* Its parents decide, unless there are criteria: of most processes /proc need not be asked again. */
static bool is_worth_judging(struct targetset *targetset, struct candidate *candidate)
{
	return !candidate->is_judged && (targetset_judges(targetset) || candidate->in_family ||
					 descends(targetset, candidate));
}

int targetset_scan(struct targetset *targetset)
{
	size_t nr_before = 0;

	for (int scan = 0; scan < MOST_SCANS && (!scan || targetset->all.nr > nr_before); scan++) {
		uint32_t *tgids scoped(freep) = NULL;
		size_t nr;
		int err = procfs_list(targetset->options.proc_root, &tgids, &nr);

		if (err)
			return err;
		nr_before = targetset->all.nr;
		note_all(targetset, tgids, nr);
		for (size_t i = 0; i < targetset->all.nr; i++) {
			struct candidate *candidate = &targetset->all.at[i];

			if (is_worth_judging(targetset, candidate))
				candidate->is_over = !judge_again(targetset, candidate);
		}
	}
	return 0;
}

void targetset_review(struct targetset *targetset, uint64_t now_ns)
{
	size_t nr = targetset->all.nr < REVIEWED_AT_ONCE ? targetset->all.nr : REVIEWED_AT_ONCE;

	if (!criteria_change(&targetset->criteria) || now_ns < targetset->reviewed_ns + REVIEW_NS)
		return;
	targetset->reviewed_ns = now_ns;
	for (size_t i = 0; i < nr; i++) {
		struct candidate *candidate =
			&targetset->all.at[targetset->nr_reviewed++ % targetset->all.nr];

		if (candidate->is_judged && !candidate->is_over)
			candidate->is_over = !judge_again(targetset, candidate);
	}
}

/* Events ----------------------------------------------------------------------------------------- */

static void on_fork(struct targetset *targetset, const struct task_event *event)
{
	const struct candidate *parent = find(targetset, event->parent_tgid);
	bool in_family = targetset->options.follow && parent && parent->in_family;
	struct candidate *child = find(targetset, event->tgid);

	/* A scan may have seen it before its fork is reported. */
	if (child && !child->is_over && child->parent == event->parent_tgid)
		return;
	if (!child && !in_family && !targetset_judges(targetset))
		return;
	child = find_or_add(targetset, event->tgid);
	*child = (struct candidate){
		.tgid = event->tgid, .parent = event->parent_tgid, .in_family = in_family};
	if (targetset->options.eager || !targetset_judges(targetset))
		judge_again(targetset, child);
}

/*
 * An exec, or a new name by prctl(): the verdict may change. A process that -p names is noted immediately: its children
 * are targets, whether it is ever sampled itself or not.
 */
static void on_name(struct targetset *targetset, const struct task_event *event)
{
	struct candidate *candidate = targetset_judges(targetset)
					      ? find_or_add(targetset, event->tgid)
					      : find(targetset, event->tgid);

	if (!candidate)
		return;
	if (!candidate->in_family)
		candidate->in_family =
			criteria_named(&targetset->criteria, event->tgid, event->comm);
	if (event->kind == TASK_EXEC && !candidate->is_wanted)
		candidate->is_judged = false; /* BPF has forgotten it, too */
	if (candidate->is_judged || targetset->options.eager)
		judge(targetset, candidate, event->comm);
}

void targetset_event(struct targetset *targetset, const struct task_event *event)
{
	struct candidate *candidate;

	switch (event->kind) {
	case TASK_FORK:
		on_fork(targetset, event);
		break;
	case TASK_EXEC:
		on_name(targetset, event);
		break;
	case TASK_COMM:
		if (event->tid == event->tgid)
			on_name(targetset, event);
		break;
	case TASK_EXIT:
		candidate = event->tid == event->tgid ? find(targetset, event->tgid) : NULL;
		if (!candidate)
			break;
		candidate->is_over = true;
		if (candidate->is_judged)
			targetset->options.gone(targetset->options.ctx, candidate->tgid);
		break;
	default:
		break;
	}
}
