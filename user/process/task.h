/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who ran when: every process seen, each image it executed, and that image's mappings.
 *
 *	struct process	identity (tgid, start_ns); a tgid that is used again is another process
 *	struct image	what it ran between two execs: a comm and mappings
 *
 * Fed by one look at /proc (tasks_snapshot) for what was there before, and by side-band events from
 * then on (tasks_apply), in any order of arrival that is right to within a drain. A process that
 * nobody announced (events were lost) is read from /proc when it is first asked for.
 */
#ifndef CPROF_PROCESS_TASK_H
#define CPROF_PROCESS_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/vec.h"
#include "process/busiest.h"
#include "process/jitsyms.h"
#include "process/mapping.h"
#include "process/opener.h"
#include "stream.h"

struct image {
	struct process *process; /* the one it belongs to */
	uint64_t since_ns;	 /* 0: since before cprof looked */
	char comm[COMM_BYTES];	 /* the latest */
	struct mappings mappings;
	struct jitsyms made; /* names for what is in its anonymous ones */
	bool was_read;	    /* its mappings were read from /proc or inherited: not only announced */
	uint32_t nr_losses; /* private: TASK_LOSTs that what is known of it takes into account */
};

struct process {
	uint32_t tgid, parent_tgid;
	/*
	 * CLOCK_MONOTONIC; 0: unknown. Exact once a record was asked for (tasks_image()); until then
	 * from /proc, to 10 ms, or the time of the TASK_FORK, a little later than the truth.
	 */
	uint64_t start_ns;
	uint64_t exited_ns; /* its first thread ended then; 0: not yet */
	bool is_kernel_thread;
	bool is_sampled; /* set by who has records of it: keeps it from being pruned */
	vec_of(struct image *) images; /* oldest first, at least one; owned */

	/* Private. */
	struct process *older;	 /* the one that had this tgid before */
	uint64_t start_slack_ns; /* how far start_ns may be off */
	bool was_forked;	 /* its TASK_FORK came */
	bool lives_on;		 /* exited_ns is set, but other threads were seen since */
	bool is_over;		 /* being pruned */
};

struct tasks;

/*
 * proc_root as for files_new(); files is where mappings are opened; both borrowed. Names in
 * mappings are ids of tasks_names().
 */
struct tasks *tasks_new(const char *proc_root, struct files *files);
void tasks_free(struct tasks *tasks);
const struct strtab *tasks_names(const struct tasks *tasks);

/*
 * Called for each executable mapping that comes to be known, with the process it is in: the heap
 * probes and the unwind tables start here. Read from /proc, announced, or inherited by a fork. Set
 * before the first snapshot; NULL for none. fn must not call back into tasks.
 */
typedef void (*tasks_on_map_fn)(void *ctx, const struct process *process,
				const struct mapping *map);
void tasks_on_map(struct tasks *tasks, tasks_on_map_fn fn, void *ctx);

/*
 * Reads comm, start time and executable mappings of tgid from /proc.
 * -ESRCH: no such process (or a zombie); -EACCES: not permitted.
 */
int tasks_snapshot(struct tasks *tasks, uint32_t tgid);
typedef bool (*tasks_enough_fn)(void *ctx);
/*
 * The same for every process there is, the busiest since `before` first, until enough() (NULL: never);
 * those that vanish meanwhile or may not be read are passed over, and those that are left are read when
 * they are asked for. How many are left; -errno: /proc itself cannot be listed.
 */
int tasks_snapshot_all(struct tasks *tasks, const struct busiest *before, tasks_enough_fn enough,
		       void *ctx);

void tasks_apply(struct tasks *tasks, const struct task_event *event);

/*
 * The image that process tgid ran at time_ns. start_ns tells an identity apart where a tgid was
 * used again (0: unknown). A process not known yet is looked up in /proc, and made with a "?" comm
 * and no mappings if it is not there either: never NULL. Borrowed until tasks_free() or a prune.
 */
struct image *tasks_image(struct tasks *tasks, uint32_t tgid, uint64_t start_ns, uint64_t time_ns);

/* The mapping of ip in image at time_ns, or NULL; after TASK_LOST reads /proc once more. */
const struct mapping *tasks_mapping(struct tasks *tasks, struct image *image, uint64_t ip,
				    uint64_t time_ns);

/*
 * Forgets processes that ended before time_ns and have no samples, and what such a live process ran
 * before that time. After TASK_LOST, looks in /proc who is still there.
 */
void tasks_prune(struct tasks *tasks, uint64_t time_ns);

/* How many processes are known, and each of them: for (i = 0; i < tasks_nr(t); i++). */
size_t tasks_nr(const struct tasks *tasks);
struct process *tasks_at(const struct tasks *tasks, size_t i);

#endif
