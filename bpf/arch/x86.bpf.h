/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* x86-64: its registers as the kernel hands them to programs, and what its ABI puts where. */
#ifndef CPROF_ARCH_X86_BPF_H
#define CPROF_ARCH_X86_BPF_H

#include "prelude.bpf.h"
#include "scratch.bpf.h"

#include "code_abi.h"

#define ARCH_MACHINE	x86_machine
#define ARCH_HAS_LINK	0
#define ARCH_NR_REGS	X86_NR_REGS
#define ARCH_PAGE_SHIFT X86_PAGE_SHIFT
#define ARCH_PC_SHIFT	0

#define ARCH_INSTRUCTION_BYTES 15u /* at most */
#define ARCH_TRAMPOLINE_PUSHES \
	24u /* bytes, that of return probes since Linux 6.11: rax, rcx, r11 */

/* Registers of user space, of which nothing is to be had but these. */
static __always_inline bool arch_is_user(const struct pt_regs *regs)
{
	return (regs->cs & 3) == 3;
}

/* Of a machine whose programs this kernel runs, too, but whose stacks are not walked. */
static __always_inline bool arch_is_foreign(const struct pt_regs *regs)
{
	return false;
}

static __always_inline u64 arch_ip(const struct pt_regs *regs)
{
	return regs->ip;
}

static __always_inline u64 arch_sp(const struct pt_regs *regs)
{
	return regs->sp;
}

/* Argument 0 to 3 of a function, at its entry (the System V ABI). A macro: nr is a constant. */
#define arch_argument(regs, nr) \
	((nr) == 0 ? (regs)->di : (nr) == 1 ? (regs)->si : (nr) == 2 ? (regs)->dx : (regs)->cx)

/* What a function returns, at its return. */
static __always_inline u64 arch_result(const struct pt_regs *regs)
{
	return regs->ax;
}

/* What sp is at the return of a function that had entry_sp at its entry: the return address is gone. */
static __always_inline u64 arch_return_sp(u64 entry_sp)
{
	return entry_sp + 8;
}

/* A walk that begins at a function's entry instead of its return: as it will be there. */
static __always_inline void arch_return_to_caller(struct walk *walk)
{
	bpf_probe_read_user(&walk->ip, sizeof(walk->ip), (void *)walk->sp);
	walk->sp += sizeof(walk->ip);
	walk->leaf[ARCH_MACHINE.sp] = walk->sp;
}

/* An address of data, without what a program may note in it. */
static __always_inline u64 arch_untag(u64 address)
{
	return address;
}

/* An address of code, of what else may stand in the word. */
static __always_inline u64 arch_strip(u64 ip)
{
	return ip;
}

/*
 * The registers that the kernel saved when current entered it, before Linux 5.15, which has a helper:
 * they are at the top of the kernel stack, which is THREAD_SIZE = 16 KB on x86-64.
 */
static __always_inline bool arch_copy_saved(struct pt_regs *regs)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return !bpf_probe_read_kernel(regs, sizeof(*regs),
				      BPF_CORE_READ(task, stack) + 16384 - sizeof(*regs));
}

/* Where fs points in current. 0: that cannot be read. */
static __always_inline u64 arch_thread_block(void)
{
	struct task_struct *task;

	if (kernel_has(get_current_task_btf))
		return bpf_get_current_task_btf()->thread.fsbase;
	if (config.no_kernel_reads)
		return 0;
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, thread.fsbase);
}

/* The leaf frame's registers. leaf is in the order of DWARF's numbers. */
static __always_inline void arch_begin_walk(struct walk *walk, const struct pt_regs *regs)
{
	walk->leaf[0] = regs->ax;
	walk->leaf[1] = regs->dx;
	walk->leaf[2] = regs->cx;
	walk->leaf[3] = walk->extra = regs->bx;
	walk->leaf[4] = regs->si;
	walk->leaf[5] = regs->di;
	walk->leaf[6] = walk->fp = regs->bp;
	walk->leaf[7] = walk->sp = regs->sp;
	walk->leaf[8] = regs->r8;
	walk->leaf[9] = regs->r9;
	walk->leaf[10] = regs->r10;
	walk->leaf[11] = regs->r11;
	walk->leaf[12] = regs->r12;
	walk->leaf[13] = regs->r13;
	walk->leaf[14] = regs->r14;
	walk->leaf[15] = regs->r15;
	walk->ip = regs->ip;
}

#define INT3 0xcc

static __always_inline bool has_met_probes(void)
{
	struct task_struct *task;

	if (!bpf_core_field_exists(struct task_struct, utask))
		return false;
	if (kernel_has(get_current_task_btf))
		return bpf_get_current_task_btf()->utask;
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, utask);
}

/*
 * Where a uprobe's breakpoint is met, ip is behind it until the kernel has found out, under locks, whose
 * it is; then it is put back to the instruction that the breakpoint stands for. A tick in between sees
 * the former. Looked at are tasks only that have met probes, and are not in a system call (orig_ax).
 * Two breakpoints in a row are padding before a function's entry, and a probe there: ip is right already.
 * (On the short way back behind an emulated instruction of one byte all looks the same as at first.)
 */
static __always_inline void arch_undo_breakpoint(struct walk *walk, const struct pt_regs *saved)
{
	u8 code[2]; /* before ip, and at it */

	if (saved->orig_ax != ~0ull || !has_met_probes() ||
	    bpf_probe_read_user(code, sizeof(code), (void *)(walk->ip - 1)))
		return;
	if (code[0] == INT3 && code[1] != INT3)
		walk->ip--;
}

/* Follows an instruction of code without unwind information. */
static __always_inline int arch_follow(struct scratch *scratch)
{
	return code_follow(&scratch->line);
}

#endif
