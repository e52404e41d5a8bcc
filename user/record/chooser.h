/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes a run is about: those that struct whom means, what descends from those that -p means,
 * and who comes to be one of these while the run goes on.
 *
 *	chooser_scan()		tells of everybody there is, by /proc
 *	chooser_event()		keeps up: forks, execs, new names, exits
 *	chooser_wants()		is asked of whoever was sampled
 *	chooser_review()	looks again at what no event announces: users, cgroups
 *
 * Two ways of working. Where only process ids are given, BPF knows whom to sample, and is told of
 * descendants that were there before it. Where there are names or filters (chooser_judges()), it samples
 * everybody it does not know, and what is said here decides: so nobody is missed for being young.
 *
 * A scan sees a process only if it lives until it is looked at, and only by whom it was forked now: if its
 * parent ended, it is somebody else's child. So forks are followed from before the scan on, and scans go
 * on until one finds nobody new.
 */
#ifndef CPROF_RECORD_CHOOSER_H
#define CPROF_RECORD_CHOOSER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "record/criteria.h"
#include "stream.h"
#include "whom.h"

struct candidate;

struct chooser_options {
	const char *proc_root;
	const struct whom *whom;
	bool follow; /* what descends from those of -p, too */
	bool eager;  /* judge at forks and execs, not when somebody was sampled */
	/* Each that is wanted, or is not any more; the latter only where it judges. */
	void (*tell)(void *ctx, uint32_t tgid, bool wanted);
	void *ctx;
};

struct chooser {
	struct chooser_options options;
	struct criteria criteria;
	vec_of(struct candidate) all;
	struct hash index;    /* by tgid */
	size_t nr_wanted;     /* so far */
	size_t nr_reviewed;   /* position of the next review */
	uint64_t reviewed_ns; /* when the last one was */
};

/* -errno, printed: what whom means does not exist. Release whatever the result. Words are borrowed. */
int chooser_open(struct chooser *chooser, const struct chooser_options *options);
void chooser_release(struct chooser *chooser);

/* Is there anything to choose: neither -a alone, nor a command? */
bool chooser_chooses(const struct chooser *chooser);
/* Does what is said here decide, and not the list of targets that BPF has? */
bool chooser_judges(const struct chooser *chooser);
/* May processes come to be wanted when none is left? */
bool chooser_is_open(const struct chooser *chooser);

/* -errno: /proc cannot be listed. */
int chooser_scan(struct chooser *chooser);
void chooser_event(struct chooser *chooser, const struct task_event *event);
/*
 * Is tgid wanted, which is, or was, called comm? is_current: it still runs the image that has this name;
 * an older image is judged by itself.
 */
bool chooser_wants(struct chooser *chooser, uint32_t tgid, const char *comm, bool is_current);
void chooser_review(struct chooser *chooser, uint64_t now_ns);

#endif
