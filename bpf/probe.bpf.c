// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What can this kernel do? A skeleton of its own, so small that if it does not load nothing will, and
 * user space can say why in words. probe_kernel() is run once, by BPF_PROG_TEST_RUN, and leaves its findings
 * in its globals. Each is decided by libbpf while loading, from the running kernel's BTF.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

unsigned int nr_calls = 0; /* of count_calls() */
bool has_ran = false;
bool has_current_task_btf = false; /* 5.11: a typed pointer to the current task */
bool has_task_pt_regs = false;	   /* 5.15: user registers of a task in the kernel */
bool has_attach_cookie = false;	   /* 5.15: a value for each attachment */
bool has_map_allocator = false;	   /* 6.1: BPF's own, so that maps may grow in any context */
bool has_uprobe_multi = false;	   /* 6.6, good from 6.10: many probe sites behind one link */
bool has_uprobe_session = false;   /* 6.13: decide at entry whether the return is of interest */

struct bpf_mem_alloc___probe {
} __attribute__((preserve_access_index));

/* Named as the kernel names them; the running kernel has the values. */
enum bpf_attach_type___probe {
	BPF_TRACE_UPROBE_MULTI___probe = 48,
	BPF_TRACE_KPROBE_SESSION___probe = 56,
	BPF_TRACE_UPROBE_SESSION___probe = 57,
};

SEC("raw_tp/sched_process_exec")
int probe_kernel(void *ctx)
{
	has_current_task_btf =
		bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf);
	has_task_pt_regs = bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);
	has_attach_cookie =
		bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_attach_cookie);
	has_map_allocator = bpf_core_type_exists(struct bpf_mem_alloc___probe);
	/*
	 * Its pid filter let one thread through only, until commit 46ba0e49b642 in Linux 6.10: the
	 * release that brought kprobe sessions.
	 */
	has_uprobe_multi = bpf_core_enum_value_exists(enum bpf_attach_type___probe,
						      BPF_TRACE_UPROBE_MULTI___probe) &&
			   bpf_core_enum_value_exists(enum bpf_attach_type___probe,
						      BPF_TRACE_KPROBE_SESSION___probe);
	has_uprobe_session = bpf_core_enum_value_exists(enum bpf_attach_type___probe,
							BPF_TRACE_UPROBE_SESSION___probe);
	has_ran = true;
	return 0;
}

/* Attached as a uprobe to a function of cprof's own: does a probe fire? */
SEC("uprobe")
int count_calls(void *ctx)
{
	nr_calls++;
	return 0;
}
