/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps BPF's unwind tables and mappings up to date, and finishes the stack walks that BPF could not.
 *
 * For a target that is named (-p) all tables are ready before the first sample, for a launched command as soon as
 * possible. For other processes a table is built when a sample first meets the code. Until then BPF copies the registers
 * and up to 128 KB of stack along with the sample, and the walk is finished here by the same rules (copywalk.h): no
 * sample is lost because its code is new. Files share tables (tablecache.h): one libc serves all processes.
 *
 *	tablesync_on_map()	a mapping was made: the process's vmas have to be written again
 *	tablesync_event()	after tasks_apply(): forks, execs, exits
 *	tablesync_complete()	a record came with a stack copy
 *	tablesync_sync()	after each drain: writes what has changed
 */
#ifndef CPROF_FEED_TABLESYNC_H
#define CPROF_FEED_TABLESYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/session.h"
#include "base/workbudget.h"
#include "process/task.h"
#include "sandbox/parser.h"

struct tablesync;

/* All borrowed until tablesync_free(). Never NULL. */
struct tablesync *tablesync_new(struct session *session, struct tasks *tasks, struct files *files,
				struct parser *parser, struct workbudget *budget);
/* Gives all tables back to the session, so before session_close(). NULL is fine. */
void tablesync_free(struct tablesync *sync);

/* When tables are built for what a process maps: at the next sync, or when its code is met. */
enum tablesync_eagerness {
	TABLESYNC_WHEN_MET,
	TABLESYNC_AFTER_EXEC, /* at the next sync, from its next image on */
	TABLESYNC_NOW,
};

/* Keeps the vmas of tgid up to date from now on. A lower eagerness than before changes nothing. */
void tablesync_follow(struct tablesync *sync, uint32_t tgid, enum tablesync_eagerness eagerness);

/*
 * Builds the table of a file that will be mapped soon, unless all that is built ahead has taken too long. If it is a runtime
 * like Python's, the BPF program that walks its stacks is loaded, which takes longer than a short program runs.
 */
void tablesync_expect(struct tablesync *sync, uint32_t file);

/* Notes that process has a new mapping. Called from tasks, so it does not call back into them. */
void tablesync_on_map(struct tablesync *sync, const struct process *process);
void tablesync_event(struct tablesync *sync, const struct task_event *event);

/*
 * Finishes the user stack of a record that has a copy. *record's user_ips, nr_user and end are
 * replaced; the ips are borrowed until the next call.
 */
void tablesync_complete(struct tablesync *sync, struct record *record);

/* Notes the names of JIT-compiled functions in a finished record's user stack, while the process has them. */
void tablesync_name(struct tablesync *sync, const struct record *record);

/* The number of stacks finished in user space so far; each was copied by BPF. */
uint64_t tablesync_nr_completed(const struct tablesync *sync);
/* The number of stacks that were left unfinished because the time budget was used up. */
uint64_t tablesync_nr_unknown(const struct tablesync *sync);

/* Writes the vmas that changed. Returns whether tables were built: more may be needed soon. */
bool tablesync_sync(struct tablesync *sync);

#endif
