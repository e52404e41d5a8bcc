/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's own types, as far as cprof's BPF programs read them, and no further.
 *
 * Every struct carries preserve_access_index: clang records which field is meant, and libbpf writes
 * the running kernel's offset into each load (CO-RE). So the order and the gaps here mean nothing,
 * only names and types do, and the build host needs no BTF. User-visible types (map types, flags,
 * helper ids) come from <linux/bpf.h>.
 *
 * The two exceptions are not relocated, because their layout is ABI: struct pt_regs (x86-64, as
 * arch/x86/include/asm/ptrace.h names its fields; arm64, what its user_pt_regs has, which begins its own) and struct bpf_perf_event_data, which begins with one.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include <linux/bpf.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
#ifndef __cplusplus
typedef _Bool bool;
#define true 1
#define false 0
#endif

#ifdef __TARGET_ARCH_arm64
struct pt_regs {
	u64 regs[31];
	u64 sp, pc, pstate;
};
#else
struct pt_regs {
	unsigned long r15, r14, r13, r12;
	unsigned long bp, bx;
	unsigned long r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};
#endif

struct bpf_perf_event_data {
	struct pt_regs regs;
	u64 sample_period;
	u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
	u64 sum_sched_runtime; /* CPU time of threads that are gone, nanoseconds */
};

struct sched_entity {
	u64 sum_exec_runtime; /* CPU time, nanoseconds */
};

struct xol_area {
	unsigned long vaddr; /* where return probes' trampoline is */
};

struct uprobes_state {
	struct xol_area *xol_area; /* NULL: no uprobe was met in this memory yet */
};

/* A call that a return probe waits for. */
struct return_instance {
	unsigned long stack;	      /* where its return address is */
	unsigned long orig_ret_vaddr; /* what it was */
	struct return_instance *next; /* an outer call's, or another probe's of this one */
};

struct uprobe_task {
	unsigned long vaddr, xol_vaddr; /* of an instruction, and of the slot that has a copy of it */
	struct return_instance *return_instances; /* the innermost call's first */
};

struct mm_struct {
	unsigned long start_stack; /* what sp was when the image began */
	struct uprobes_state uprobes_state;
};

#ifdef __TARGET_ARCH_arm64
struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
};
#else
struct thread_struct {
	unsigned long fsbase;
};
#endif

struct task_struct {
	int pid, tgid;
	unsigned int flags;
	u32 self_exec_id; /* grows with every execve of the process */
	u64 start_time;	  /* CLOCK_MONOTONIC, nanoseconds */
	char comm[16];
	void *stack;
	struct mm_struct *mm; /* NULL: a kernel thread, or one that has given it up, to exit */
	unsigned int in_execve : 1;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct sched_entity se;
	struct uprobe_task *utask; /* NULL: it has met no uprobe yet */
	void *robust_list;	   /* in user space; NULL: the thread has said nothing of it */
	struct thread_struct thread;
};

#pragma clang attribute pop

#endif
