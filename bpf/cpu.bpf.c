// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The on-CPU event source: one software cpu-clock event on each CPU ends up here at every tick. */
#include "prelude.bpf.h"
#include "arch/arch.bpf.h"
#include "record.bpf.h"
#include "registers.bpf.h"
#include "runtime.bpf.h"
#include "scratch.bpf.h"
#include "stats.bpf.h"
#include "target.bpf.h"
#include "unwind.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static void take_kernel_stack(struct bpf_perf_event_data *ctx, struct scratch *scratch)
{
	long len = 0;

	if (config.kernel_stacks && !arch_is_user((struct pt_regs *)&ctx->regs))
		len = bpf_get_stack(ctx, scratch->record.ips,
				    ABI_MAX_KERNEL_FRAMES * sizeof(scratch->record.ips[0]), 0);
	scratch->record.nr_kernel = len > 0 ? len / sizeof(scratch->record.ips[0]) : 0;
}

/*
 * A tick inside the kernel whose user registers cannot be had (registers.bpf.c): the kernel's own walk by
 * frame pointers. Its first ip is exact, the others are as good as the frame pointers are. A task that has
 * no user stack is found out here, too.
 */
static __always_inline void take_frames_of_kernel(struct bpf_perf_event_data *ctx,
						  struct scratch *scratch)
{
	u64 *ips = &scratch->record.ips[scratch->record.nr_kernel & ABI_MAX_KERNEL_FRAMES];
	long len = bpf_get_stack(ctx, ips, ABI_MAX_KERNEL_FRAMES * sizeof(*ips), BPF_F_USER_STACK);

	if (len <= 0) {
		scratch->walk.end = ABI_END_NO_USER;
		return;
	}
	scratch->walk.nr = scratch->walk.nr_walked = len / sizeof(*ips);
	for (u32 i = 1; i < ABI_MAX_KERNEL_FRAMES && i < scratch->walk.nr; i++)
		ips[i] |= ABI_IP_GUESSED;
}

/* A kernel thread that was not known as one before, and a task that exits or calls exec, have no stack to show. */
static __always_inline bool has_nothing_to_show(const struct scratch *scratch)
{
	return config.no_kernel_reads && !kernel_has(get_current_task_btf) &&
	       !config.kernel_stacks && scratch->walk.end == ABI_END_NO_USER;
}

SEC("perf_event")
int sample_cpu(struct bpf_perf_event_data *ctx)
{
	struct scratch *scratch = scratch_at(ABI_SLOT_TICK);

	stat_inc(ABI_STAT_TICKS);
	if (!scratch || !target_is_current()) {
		stat_inc(ABI_STAT_FILTERED);
		return 0;
	}
	target_identify(scratch);
	if (scratch->is_kernel_thread && !config.kernel_stacks) {
		stat_inc(ABI_STAT_FILTERED);
		return 0;
	}
	take_kernel_stack(ctx, scratch);
	if (registers_begin_walk((struct pt_regs *)&ctx->regs, scratch)) {
		unwind_user(ABI_SLOT_TICK);
		runtime_walk(ctx, ABI_SLOT_TICK);
	} else if (config.no_kernel_reads && !kernel_has(task_pt_regs) &&
		   scratch->walk.end == ABI_END_NO_REGISTERS) {
		take_frames_of_kernel(ctx, scratch);
	}
	if (!scratch->walk.nr && has_nothing_to_show(scratch)) {
		stat_inc(ABI_STAT_FILTERED);
		return 0;
	}
	record_close(ABI_SLOT_TICK, 0);
	record_store(scratch, NULL);
	return 0;
}
