// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A skeleton of its own, so small that if it does not load nothing will, and user space can say why in words. It needs
 * nothing of the kernel's BTF, which libbpf would read for it.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

unsigned int nr_calls = 0; /* of count_calls() */
bool has_ran = false;

/* Run once, by BPF_PROG_TEST_RUN: do programs run here? */
SEC("raw_tp/sched_process_exec")
int probe_kernel(void *ctx)
{
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
