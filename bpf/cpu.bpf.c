// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The on-CPU event source: one software cpu-clock event on each CPU ends up here at every tick. */
#include "prelude.bpf.h"
#include "record.bpf.h"
#include "registers.bpf.h"
#include "scratch.bpf.h"
#include "stats.bpf.h"
#include "target.bpf.h"
#include "unwind.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static void take_kernel_stack(struct bpf_perf_event_data *ctx, struct scratch *scratch)
{
	long len = 0;

	if (config.kernel_stacks && (ctx->regs.cs & 3) != 3)
		len = bpf_get_stack(ctx, scratch->record.ips,
				    ABI_MAX_KERNEL_FRAMES * sizeof(scratch->record.ips[0]), 0);
	scratch->record.nr_kernel = len > 0 ? len / sizeof(scratch->record.ips[0]) : 0;
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
	if (registers_begin_walk((struct pt_regs *)&ctx->regs, scratch))
		unwind_user(ABI_SLOT_TICK);
	record_close(scratch, 0);
	record_store(scratch);
	return 0;
}
