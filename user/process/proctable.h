/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who has, or had, which tgid: the processes and their images, found by identity or by time. What
 * is in them, and what events mean, is task.c's.
 *
 * A tgid is not an identity: with the start time it is. Four sources tell of a process, each with a
 * start time of its own exactness (struct process, start_slack_ns: how far it may be off):
 *
 *	a record	task->start_time, exact
 *	TASK_FORK	when the kernel announced it: microseconds later, or milliseconds
 *	/proc/PID/stat	rounded down to 10 ms, and too early by later suspends of the machine
 *	another event	none
 *
 * What a source says goes to the process whose start is nearest within the slack.
 */
#ifndef CPROF_PROCESS_PROCTABLE_H
#define CPROF_PROCESS_PROCTABLE_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "process/task.h"

/* Zeroed: empty. */
struct proctable {
	vec_of(struct process *) all;	 /* owned; in the order they came to be known */
	vec_of(struct process *) newest; /* of each tgid; the others follow by ->older */
	struct hash by_tgid;		 /* positions in newest */
};

/* A process without images; owned by the proctable. */
struct process *proctable_add(struct proctable *proctable, uint32_t tgid, uint64_t start_ns,
			      uint64_t slack_ns);
/* The one of tgid that started last, NULL if none is known. */
struct process *proctable_newest(const struct proctable *proctable, uint32_t tgid);
/* The one of tgid that started at start_ns, as exactly as that is known; else NULL. */
struct process *proctable_started(const struct proctable *proctable, uint32_t tgid,
				  uint64_t start_ns, uint64_t slack_ns);
/* The one that had tgid at time_ns, as far as is known: the last to start until then; else NULL. */
struct process *proctable_at(const struct proctable *proctable, uint32_t tgid, uint64_t time_ns);
/* Frees every process with is_over set. */
void proctable_drop_over(struct proctable *proctable);
void proctable_release(struct proctable *proctable);

/* Could a start time be the process's? One that ended before cannot have started then. */
bool process_started(const struct process *process, uint64_t start_ns, uint64_t slack_ns);
/* A new empty image that runs since since_ns, in its place by time; its process owns it. */
struct image *process_add_image(struct process *process, uint64_t since_ns);
/* The image that ran at time_ns; the first one for a time before all. */
struct image *process_image(const struct process *process, uint64_t time_ns);
struct image *process_last_image(const struct process *process);
/* Frees the images that ended before time_ns, but never the last one. */
void process_drop_images(struct process *process, uint64_t time_ns);

#endif
