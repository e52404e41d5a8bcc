/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What every BPF file starts with, in the only order that works: the kernel's types before libbpf's
 * helpers, which need them.
 *
 * The kernel's structures are read through typed pointers (bpf_get_current_task_btf(), tracepoints' arguments), which costs no
 * call, and works under lockdown=confidentiality too, where bpf_probe_read_kernel() is refused. What
 * only older kernels need to read by address stands behind config.no_kernel_reads.
 *
 * House rules for BPF code: every early return adds to exactly one stat (stats.bpf.h); results of map
 * updates and deletes are tested as (int), because before Linux 6.4 they come zero-extended and
 * `long < 0` is never true; map sizes are set by user space.
 */
#ifndef CPROF_PRELUDE_BPF_H
#define CPROF_PRELUDE_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "cprof_abi.h"

/*
 * Does the running kernel have this helper? libbpf makes a constant of the answer, and the verifier
 * drops what it rules out.
 */
#define kernel_has(helper) bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_##helper)

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* Settings, written by user space before load. Defined in target.bpf.c. */
extern const volatile struct abi_config config;

#endif
