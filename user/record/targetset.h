/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes a run is about: those that struct targetspec means, what descends from those that -p means,
 * and who comes to be one of these while the run goes on.
 *
 *	targetset_scan()		tells of everybody there is, by /proc
 *	targetset_event()		keeps up: forks, execs, new names, exits
 *	targetset_wants()		is asked of whoever was sampled
 *	targetset_review()	looks again at what no event announces: users, cgroups
 *
 * Two ways of working. Where only process ids are given, BPF knows whom to sample, and is told of
 * descendants that were there before it. Where there are names or filters (targetset_judges()), it samples
 * everybody it does not know, and what is said here decides: so nobody is missed for being young.
 *
 * A scan sees a process only if it lives until it is looked at, and only by whom it was forked now: if its
 * parent ended, it is somebody else's child. So forks are followed from before the scan on, and scans go
 * on until one finds nobody new.
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
	const struct targetspec *spec;
	bool follow; /* what descends from those of -p, too */
	bool eager;  /* judge at forks and execs, not when somebody was sampled */
	/* Each that is wanted, or is not any more; the latter only where it judges. */
	void (*tell)(void *ctx, uint32_t tgid, bool wanted);
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

/* -errno, printed: what whom means does not exist. Release whatever the result. Words are borrowed. */
int targetset_open(struct targetset *targetset, const struct targetset_options *options);
void targetset_release(struct targetset *targetset);

/* Is there anything to choose: neither -a alone, nor a command? */
bool targetset_chooses(const struct targetset *targetset);
/* Does what is said here decide, and not the list of targets that BPF has? */
bool targetset_judges(const struct targetset *targetset);
/* May processes come to be wanted when none is left? */
bool targetset_is_open(const struct targetset *targetset);

/* -errno: /proc cannot be listed. */
int targetset_scan(struct targetset *targetset);
void targetset_event(struct targetset *targetset, const struct task_event *event);
/*
 * Is tgid wanted, which is, or was, called comm? is_current: it still runs the image that has this name;
 * an older image is judged by itself.
 */
bool targetset_wants(struct targetset *targetset, uint32_t tgid, const char *comm, bool is_current);
void targetset_review(struct targetset *targetset, uint64_t now_ns);

#endif
