/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a task table, private to task.c, which reads /proc, and task_event.c, which applies what the kernel
 * announces. Both add processes, images and mappings in the ways below.
 */
#ifndef CPROF_PROCESS_TASK_STATE_H
#define CPROF_PROCESS_TASK_STATE_H

#include "base/clock.h"
#include "process/proctable.h"
#include "process/task.h"

/*
 * /proc counts the start in clock ticks of CLOCK_BOOTTIME, BPF sees it in CLOCK_MONOTONIC. At a fork the kernel
 * reads one clock after the other, and a virtual machine's processor may be taken away in between: more than two
 * ticks were seen on a loaded host, and then all samples of a launched command belonged to no process.
 */
#define START_SLACK_NS 200000000ull
struct tasks {
	const char *proc_root; /* borrowed */
	struct files *files;   /* borrowed */
	struct strtab names;
	struct proctable proctable;
	tasks_on_map_fn on_map;
	void *on_map_ctx;
	bool is_reading; /* what /proc says of a process */
	uint32_t nr_losses, nr_losses_swept;
	uint64_t lost_ns, swept_ns;
	bool jitsyms_grew;
};

/* Up to COMM_BYTES - 1 bytes of comm. */
void tasks_set_comm(struct image *image, const char *comm);
/* A new last image of process, since since_ns (CLOCK_MONOTONIC). */
struct image *tasks_add_image(const struct tasks *tasks, struct process *process, uint64_t since_ns,
			      const char *comm);
/* Adds a mapping, and calls what tasks_on_map() set if it is new. */
void tasks_add_map(struct tasks *tasks, struct image *image, const struct mapping *map);
/* A process that no event announced: read from /proc now, or an empty one where it is gone. start_ns 0: not known. */
struct process *tasks_add_unannounced(struct tasks *tasks, uint32_t tgid, uint64_t start_ns,
				      uint64_t time_ns);

#endif
