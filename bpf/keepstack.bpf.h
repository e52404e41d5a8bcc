/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Keeps a uprobe's program on the kernel's stack.
 *
 * Since Linux 6.13 a program whose frames are large gets a stack of its own for each CPU, on the
 * promise that it does not run twice there at a time. Uprobes keep no such promise where the kernel
 * can be preempted: on 7.2 the locals of one task's program were those of another's, one block in 300
 * had the size of somebody else's. A program with a tail call keeps the kernel's stack; this one is
 * never made, and the verifier does not even look at it, since config is constant.
 */
#ifndef CPROF_KEEPSTACK_BPF_H
#define CPROF_KEEPSTACK_BPF_H

#include "prelude.bpf.h"

/* One map for each way of attaching: the kernel lets no two share one. */
struct no_programs {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
};

#define KEEP_KERNEL_STACK(ctx, programs)                    \
	do {                                                \
		if (config.nr_uprobe_slots > ABI_NR_SLOTS)  \
			bpf_tail_call(ctx, &(programs), 0); \
	} while (0)

#endif
