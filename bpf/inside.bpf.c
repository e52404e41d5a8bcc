// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The allocation event source of processes that sample by themselves: probes in libcprof-heap.so (inside/entries.S),
 * which fire for sampled blocks only. After that a block is handled as in heap.bpf.c.
 *
 * At each site the stack pointer is that of a function's entry, so that the return address is where a call has left it, and
 * the callee-saved registers are the caller's.
 */
#include "prelude.bpf.h"
#include "arch/arch.bpf.h"
#include "heap.bpf.h"
#include "keepstack.bpf.h"

struct no_programs no_sampled SEC(".maps"), no_inside SEC(".maps");

/*
 * Arguments 0, 1 and 3: block, size, the function that was called. It walks the stacks of runtimes, as on_call does, and so is
 * attached as that is: as a session, where the kernel has them, which has nothing to do at the return (1).
 */
SEC("uprobe")
int on_sampled(struct pt_regs *ctx)
{
	KEEP_KERNEL_STACK(ctx, no_sampled);
	heap_sampled(ctx, &(struct heap_block){.address = arch_argument(ctx, 0),
					       .size_bytes = arch_argument(ctx, 1),
					       .entry_ip = arch_argument(ctx, 3)});
	return config.has_sessions;
}

/* Arguments: block; will a realloc free it, if it succeeds? */
SEC("uprobe")
int on_sampled_free(struct pt_regs *ctx)
{
	KEEP_KERNEL_STACK(ctx, no_inside);
	if (arch_argument(ctx, 1))
		heap_leaves(ctx, arch_argument(ctx, 0));
	else
		heap_free(arch_argument(ctx, 0));
	return 0;
}

/* Argument: did it? */
SEC("uprobe")
int on_moved(struct pt_regs *ctx)
{
	KEEP_KERNEL_STACK(ctx, no_inside);
	heap_moved(arch_argument(ctx, 0));
	return 0;
}
