// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The allocation event source, attached to every allocator function that user space finds
 * (user/collect/uprobes.c):
 *
 *	enter_SHAPE, leave_call	a pair, the former for each shape of function (see ABI_ALLOCATORS), because
 *				before Linux 5.15 there is no cookie to tell them apart
 *	on_call			an uprobe session (Linux 6.13): one program at both ends of the functions of
 *				every shape; where it answers 1 at the entry, the call returns without
 *				another trap
 *	enter_free		has no other end
 *
 * And where threads and images end, by the scheduler's tracepoints: end_on_exit, end_on_exec.
 *
 * A session's program knows where it is by the instruction pointer, which is the probed address at
 * the entry and the caller's at the return. There is a kfunc that says so, too, but its prototype
 * changed in Linux 7.0, and libbpf wants the one it was compiled for.
 */
#include "prelude.bpf.h"
#include "arch/arch.bpf.h"
#include "heap.bpf.h"
#include "keepstack.bpf.h"
#include "live.bpf.h"
#include "target.bpf.h"

struct no_programs no_probes SEC(".maps"), no_sessions SEC(".maps");

/*
 * nr * size as calloc sees it; where the product overflows the call will fail. The barrier keeps
 * clang from turning this into a 128-bit multiplication, which BPF lacks.
 */
static __always_inline u64 multiply(u64 nr, u64 size)
{
	u64 most = size ? ~0ull / size : ~0ull;

	barrier_var(most);
	return nr > most ? ~0ull : nr * size;
}

static __always_inline struct heap_call read_arguments(const struct pt_regs *ctx, u32 allocator)
{
	struct heap_call call = {.allocator = allocator};

	switch (allocator) {
	case ABI_ALLOCATOR_MALLOC:
		call.size_bytes = arch_argument(ctx, 0);
		break;
	case ABI_ALLOCATOR_CALLOC:
		call.size_bytes = multiply(arch_argument(ctx, 0), arch_argument(ctx, 1));
		break;
	case ABI_ALLOCATOR_REALLOC:
		call.size_bytes = arch_argument(ctx, 1);
		call.old_address = arch_argument(ctx, 0);
		break;
	case ABI_ALLOCATOR_REALLOCARRAY:
		call.size_bytes = multiply(arch_argument(ctx, 1), arch_argument(ctx, 2));
		call.old_address = arch_argument(ctx, 0);
		break;
	case ABI_ALLOCATOR_MEMALIGN:
		call.size_bytes = arch_argument(ctx, 1);
		break;
	case ABI_ALLOCATOR_POSIX_MEMALIGN:
		call.size_bytes = arch_argument(ctx, 2);
		call.result_at = arch_argument(ctx, 0);
		break;
	}
	return call;
}

#define ENTER(name, SHAPE)                                                                   \
	SEC("uprobe")                                                                        \
	int enter_##name(struct pt_regs *ctx)                                                \
	{                                                                                    \
		struct heap_call call = read_arguments(ctx, ABI_ALLOCATOR_##SHAPE);          \
                                                                                             \
		KEEP_KERNEL_STACK(ctx, no_probes);                                           \
		heap_enter(ctx, config.has_cookies ? bpf_get_attach_cookie(ctx) : 0, &call); \
		return 0;                                                                    \
	}

ENTER(malloc, MALLOC)
ENTER(calloc, CALLOC)
ENTER(realloc, REALLOC)
ENTER(reallocarray, REALLOCARRAY)
ENTER(memalign, MEMALIGN)
ENTER(posix_memalign, POSIX_MEMALIGN)

SEC("uretprobe")
int leave_call(struct pt_regs *ctx)
{
	KEEP_KERNEL_STACK(ctx, no_probes);
	heap_return(ctx);
	return 0;
}

SEC("uprobe")
int on_call(struct pt_regs *ctx)
{
	u64 cookie = bpf_get_attach_cookie(ctx);
	struct heap_call call;

	KEEP_KERNEL_STACK(ctx, no_sessions);
	if (arch_ip(ctx) != bpf_get_func_ip(ctx)) {
		heap_return(ctx);
		return 0;
	}
	call = read_arguments(ctx, ABI_SITE_ALLOCATOR(cookie));
	return !heap_enter(ctx, cookie, &call);
}

SEC("uprobe")
int enter_free(struct pt_regs *ctx)
{
	KEEP_KERNEL_STACK(ctx, no_probes);
	heap_free(arch_argument(ctx, 0));
	return 0;
}

/* live counts the threads that have not begun to exit. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(end_on_exit, struct task_struct *task)
{
	u32 tgid = task->tgid, tid = task->pid;

	heap_end_thread((u64)tgid << 32 | tid, ABI_HOLDER_EXITED);
	if (!task->signal->live.counter)
		live_end_image(tgid, target_ended_image(task, false), ABI_HOLDER_EXITED);
	return 0;
}

/* The exec is counted already, and whichever thread asked for it is the first one now. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(end_on_exec, struct task_struct *task, int old_tid)
{
	u32 tgid = task->tgid;

	heap_end_thread((u64)tgid << 32 | (u32)old_tid, ABI_HOLDER_EXECED);
	live_end_image(tgid, target_ended_image(task, true), ABI_HOLDER_EXECED);
	return 0;
}
