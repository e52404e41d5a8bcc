/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every process seen, each image it executed, and the mappings of each image.
 *
 *	struct process	identity (tgid, start_ns); a reused tgid is another process
 *	struct image	what it ran between two execs: a comm and mappings
 *
 * A look at /proc (tasks_snapshot) tells what was there before; from then on side-band events do
 * (tasks_apply). Events may arrive in any order within one drain of the buffers. A process without an event
 * (events were lost) is read from /proc when it is first asked for.
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
#include "process/jitsymfiles.h"
#include "process/mapping.h"
#include "process/files.h"
#include "stream.h"

struct image {
	struct process *process; /* the one it belongs to */
	uint64_t since_ns;	 /* 0: since before cprof looked */
	char comm[COMM_BYTES];	 /* the latest */
	struct mappings mappings;
	struct jitsyms jitsyms; /* names of code in its anonymous mappings */
	struct jitsymfiles
		*jitsym_files; /* that it writes them to; NULL: none, as far as is known */
	bool was_read;	    /* its mappings were read from /proc or inherited, not only announced */
	uint32_t nr_losses; /* private: how many TASK_LOSTs had come when it was last read */
};

struct process {
	uint32_t tgid, parent_tgid;
	/*
	 * CLOCK_MONOTONIC; 0: unknown. Exact once a record was resolved (tasks_image()); until then
	 * from /proc, to 10 ms, or the time of the TASK_FORK, a little later than the truth.
	 */
	uint64_t start_ns;
	uint64_t exited_ns; /* its first thread ended then; 0: not yet */
	bool is_kernel_thread;
	bool was_forbidden; /* cprof may not read its mappings */
	bool is_sampled;    /* set by the owner of its records: keeps it from being pruned */
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
 * proc_root as for files_new(); mappings are opened in files; both borrowed until tasks_free(). Names in
 * mappings are ids of tasks_names().
 */
struct tasks *tasks_new(const char *proc_root, struct files *files);
void tasks_free(struct tasks *tasks);
const struct strtab *tasks_names(const struct tasks *tasks);

/*
 * Called for each new executable mapping, read from /proc, announced, or inherited by a fork, with the
 * process it is in. The heap probes and the unwind tables start here. Set before the first snapshot; NULL
 * for none. fn must not call back into tasks.
 */
typedef void (*tasks_on_map_fn)(void *ctx, const struct process *process,
				const struct mapping *map);
void tasks_on_map(struct tasks *tasks, tasks_on_map_fn fn, void *ctx);
/* Asked by fn: is the process being read from /proc, so that the rest of its mappings follows at once? */
bool tasks_is_reading(const struct tasks *tasks);

/*
 * Reads comm, start time and executable mappings of tgid from /proc into the table.
 * -ESRCH: no such process (or a zombie); -EACCES: not permitted.
 */
int tasks_snapshot(struct tasks *tasks, uint32_t tgid);
/* Whether that was done, of the newest process with this tgid. */
bool tasks_was_read(const struct tasks *tasks, uint32_t tgid);
/*
 * The same for every process, the busiest since `before` first, until enough(ctx) returns true (NULL: never).
 * Processes that vanish meanwhile or may not be read are skipped; those that are left are read when they are
 * first asked for. Returns how many are left; -errno: /proc itself cannot be listed.
 */
typedef bool (*tasks_enough_fn)(void *ctx);
int tasks_snapshot_all(struct tasks *tasks, const struct busiest *before, tasks_enough_fn enough,
		       void *ctx);

/* The same for processes that are not known yet, in the order of their ids. */
int tasks_snapshot_rest(struct tasks *tasks, tasks_enough_fn enough, void *ctx);

/* Applies one side-band event (borrowed) to what is known of its process. Never fails. */
void tasks_apply(struct tasks *tasks, const struct task_event *event);
/* Is the event about a process that is known, a child of one, or all? */
bool tasks_knows(const struct tasks *tasks, const struct task_event *event);

/*
 * The image that process tgid ran at time_ns. start_ns identifies the process where the tgid
 * was reused (0: unknown). A process not known yet is read from /proc; if it is not there either, it gets
 * the comm "?" and no mappings. Never NULL. Borrowed until tasks_free() or a prune.
 */
struct image *tasks_image(struct tasks *tasks, uint32_t tgid, uint64_t start_ns, uint64_t time_ns);

/* The mapping of ip in image at time_ns, or NULL; after TASK_LOST reads /proc once more. */
const struct mapping *tasks_mapping(struct tasks *tasks, struct image *image, uint64_t ip,
				    uint64_t time_ns);

/*
 * Frees the processes that ended before time_ns and have no samples, and the images that live processes
 * without samples ran before that time. After TASK_LOST, checks in /proc which processes still exist.
 */
void tasks_prune(struct tasks *tasks, uint64_t time_ns);

/* Returns whether /proc shows process tgid with at least one thread that has not ended. */
bool tasks_is_alive(const struct tasks *tasks, uint32_t tgid);
/* Whether none of its threads will run the program again: it has ended, or its last thread is about to. */
bool tasks_is_over(const struct tasks *tasks, uint32_t tgid);

/*
 * Looks how long the files of JIT symbols of all processes are at now_ns (process/jitsymfiles.h). Returns whether any has changed
 * since the last call. tasks_jitsyms_grew(): since the first one.
 */
bool tasks_measure_jitsyms(struct tasks *tasks, uint64_t now_ns);
bool tasks_jitsyms_grew(const struct tasks *tasks);

/* The number of processes known, and the i-th of them (0 to tasks_nr() - 1), borrowed. */
size_t tasks_nr(const struct tasks *tasks);
struct process *tasks_at(const struct tasks *tasks, size_t i);

#endif
