/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which processes are targets: those that struct targetspec names, their descendants, and later arrivals.
 *
 *	targetset_scan()	reports all targets that exist, from /proc
 *	targetset_event()	follows forks, execs, new names, exits
 *	targetset_wants()	decides about a process that was sampled
 *	targetset_review()	checks again what no event announces: users, cgroups
 *
 * There are two modes. If only process ids are given, BPF decides which processes to sample, and is given the descendants
 * that existed before it was loaded. If there are names or filters (targetset_judges()), BPF samples every process that it
 * does not know, and the decision is made here, so that no process is missed because it is young.
 *
 * A scan sees a process only if it lives until it is read, and only its present parent: a process whose parent ended has
 * another one. So forks are followed from before the scan on, and scans are repeated until one finds no new process.
 */
#ifndef CPROF_RECORD_TARGETSET_H
#define CPROF_RECORD_TARGETSET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "record/criteria.h"
#include "stream.h"
#include "targetspec.h"

struct candidate;

struct targetset_options {
	const char *proc_root;
	struct opener *opener; /* NULL: there is none */
	const struct targetspec *spec;
	bool follow; /* descendants of the processes of -p are targets too */
	bool eager;  /* decide at forks and execs, not when a process was sampled */
	/* Called for each process that becomes a target, or (if targetset_judges()) is or becomes none. */
	void (*tell)(void *ctx, uint32_t tgid, bool wanted);
	/* Called after `tell` with wanted = false, if an exec or a new name came first: the process is to be sampled and judged again. */
	void (*undecided)(void *ctx, uint32_t tgid);
	/* Called when the first thread of a process about which `tell` may have been called has ended. */
	void (*gone)(void *ctx, uint32_t tgid);
	void *ctx;
};

struct targetset {
	struct targetset_options options;
	struct criteria criteria;
	vec_of(struct candidate) all;
	struct hash index;    /* by tgid */
	size_t nr_wanted;     /* so far */
	size_t nr_reviewed;   /* position of the next review */
	uint64_t reviewed_ns; /* when the last one was */
};

/* -errno, printed: what the spec names does not exist. Release whatever the result. options->spec is borrowed. */
int targetset_open(struct targetset *targetset, const struct targetset_options *options);
void targetset_release(struct targetset *targetset);

/* Whether there is anything to decide: not with -a alone, and not with a launched command. */
bool targetset_chooses(const struct targetset *targetset);
/* Whether the decision is made here, not by BPF's list of targets. */
bool targetset_judges(const struct targetset *targetset);
/* Whether there can be new targets when none is left. */
bool targetset_is_open(const struct targetset *targetset);

/* Decides about every process there is. -errno, not printed: /proc cannot be listed. */
int targetset_scan(struct targetset *targetset);
/* Follows one event, after it was applied to tasks. */
void targetset_event(struct targetset *targetset, const struct task_event *event);
/*
 * Whether process tgid, with the name comm, is a target. is_current: it still runs the image that has this name; for an older
 * image the result is not kept.
 */
bool targetset_wants(struct targetset *targetset, uint32_t tgid, const char *comm, bool is_current);
/* Decides again about some of the processes, at most once a second. now_ns: CLOCK_MONOTONIC. */
void targetset_review(struct targetset *targetset, uint64_t now_ns);

#endif
