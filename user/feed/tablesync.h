/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives the BPF unwinder what it needs, when it needs it, and finishes its work where it could not.
 *
 * First things first: of a target that is named (-p) everything is ready before the first sample, of
 * one that is launched as soon as it can be; of others a table is built when their code is first met.
 * Until then BPF sends the registers and up to 128 KB of stack along with a sample, and the walk is
 * finished here by the same rows (copywalk.h): no sample is lost for coming first. Tables are the
 * affair of tablecache.h: one libc serves all processes.
 *
 *	tablesync_on_map()	a mapping appeared: the process's vmas are to be written again
 *	tablesync_event()	after tasks_apply(): forks, execs, exits
 *	tablesync_complete()	a record came with a stack copy
 *	tablesync_sync()		after each drain: writes what has changed
 */
#ifndef CPROF_FEED_TABLESYNC_H
#define CPROF_FEED_TABLESYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/session.h"
#include "object/object.h"
#include "base/workbudget.h"
#include "process/task.h"

struct tablesync;

/* All borrowed. */
struct tablesync *tablesync_new(struct session *session, struct tasks *tasks,
				const struct files *files, struct objects *objects,
				struct workbudget *budget);
void tablesync_free(struct tablesync *sync);

/* When tables are built for what a process maps: at the next sync, or when its code is met. */
enum tablesync_eagerness {
	TABLESYNC_WHEN_MET,
	TABLESYNC_AFTER_EXEC, /* at the next sync, from its next image on */
	TABLESYNC_NOW,
};

/* tgid is of interest from now on: its vmas are kept up to date. */
void tablesync_follow(struct tablesync *sync, uint32_t tgid, enum tablesync_eagerness eagerness);

/* A mapping of process came to be known; must not call into tasks. */
void tablesync_on_map(struct tablesync *sync, const struct process *process);
void tablesync_event(struct tablesync *sync, const struct task_event *event);

/*
 * Finishes the user stack of a record that has a copy. *record's user_ips, nr_user and end are
 * replaced; the ips are borrowed until the next call.
 */
void tablesync_complete(struct tablesync *sync, struct record *record);

/* Notes the names of the code in a whole record's user stack that is in no file, while it has them. */
void tablesync_name(struct tablesync *sync, const struct record *record);

/* How many stacks were finished here so far: each cost a copy. */
uint64_t tablesync_nr_completed(const struct tablesync *sync);
/* How many could not be, since there was no patience to learn of their code. */
uint64_t tablesync_nr_unknown(const struct tablesync *sync);

/* Writes what changed. Returns whether anything was built: more may be needed soon. */
bool tablesync_sync(struct tablesync *sync);

#endif
