/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process table: processes and their images, found by identity or by time.
 *
 * What an image holds, and what events mean for it, is in process/task.h.
 *
 * A tgid is not an identity, since the kernel reuses it; with the start time it is. Four sources name a
 * process, each with a start time of different precision (struct process, start_slack_ns: how far off it
 * may be):
 *
 *	a record	task->start_time, exact
 *	TASK_FORK	when the kernel announced it: microseconds later, or milliseconds
 *	/proc/PID/stat	rounded down to 10 ms, and too early by later suspends of the machine
 *	another event	none
 *
 * A start time belongs to the process whose own is nearest to it, within the slack.
 */
#ifndef CPROF_PROCESS_PROCTABLE_H
#define CPROF_PROCESS_PROCTABLE_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "process/task.h"

/* Zeroed: empty. */
struct proctable {
	vec_of(struct process *) all;	 /* owned; in the order they were added */
	vec_of(struct process *) newest; /* for each tgid; older ones follow by ->older */
	struct hash by_tgid;		 /* positions in newest */
};

/* Adds a process without images. Owned by the table, as are all below. */
struct process *proctable_add(struct proctable *proctable, uint32_t tgid, uint64_t start_ns,
			      uint64_t slack_ns);
/* The process of tgid that started last; NULL: none is known. */
struct process *proctable_newest(const struct proctable *proctable, uint32_t tgid);
/* The process of tgid that started at start_ns, give or take the slack; NULL: none is known. */
struct process *proctable_started(const struct proctable *proctable, uint32_t tgid,
				  uint64_t start_ns, uint64_t slack_ns);
/* The process that had tgid at time_ns: the last that started by then; NULL: none is known. */
struct process *proctable_at(const struct proctable *proctable, uint32_t tgid, uint64_t time_ns);
/* Frees every process with is_over set. Pointers to the others stay valid. */
void proctable_drop_over(struct proctable *proctable);
/* Frees all processes and their images. */
void proctable_release(struct proctable *proctable);

/* Whether start_ns may be the start time of process: within the slack, and not after its exit. */
bool process_started(const struct process *process, uint64_t start_ns, uint64_t slack_ns);
/* Adds an empty image that runs since since_ns, in order of time; owned by the process. */
struct image *process_add_image(struct process *process, uint64_t since_ns);
/* The image that ran at time_ns, or the first if that is earlier; the last image. There must be one. */
struct image *process_image(const struct process *process, uint64_t time_ns);
struct image *process_last_image(const struct process *process);
/* Frees the images that ended before time_ns, but never the last one. */
void process_drop_images(struct process *process, uint64_t time_ns);

#endif
