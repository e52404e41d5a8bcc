/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Decides whether the current task is a target, and identifies it. */
#ifndef CPROF_TARGET_BPF_H
#define CPROF_TARGET_BPF_H

#include "prelude.bpf.h"
#include "scratch.bpf.h"

/* Current is a target: its tgid is listed, or everything is wanted but idle and cprof itself with its helpers. */
bool target_is_current(void);
/* How many execs current's process has behind it: tells the images of one process apart. */
u32 target_exec_id(void);
static __always_inline struct abi_image target_image(void)
{
	return (struct abi_image){.tgid = bpf_get_current_pid_tgid() >> 32,
				  .exec_id = target_exec_id()};
}

/* The image of task that ends, at the tracepoints of its exit and exec. */
u32 target_ended_image(const struct task_struct *task, bool by_exec);
/* Fills in who current is: the task's part of scratch and of its record. */
void target_identify(struct scratch *scratch);

#endif
