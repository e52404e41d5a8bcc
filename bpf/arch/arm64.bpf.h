/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* arm64: its registers as the kernel hands them to programs, and what its ABI puts where. */
#ifndef CPROF_ARCH_ARM64_BPF_H
#define CPROF_ARCH_ARM64_BPF_H

#include "prelude.bpf.h"
#include "scratch.bpf.h"

#include "code_abi.h"

#define ARCH_MACHINE	arm64_machine
#define ARCH_HAS_LINK	1
#define ARCH_NR_REGS	ARM64_NR_REGS
#define ARCH_PAGE_SHIFT ARM64_PAGE_SHIFT
#define ARCH_PC_SHIFT	ARM64_PC_SHIFT

#define ARCH_INSTRUCTION_BYTES 4u
#define ARCH_TRAMPOLINE_PUSHES 0u

#define PSTATE_MODE    0xf
#define PSTATE_AARCH32 0x10

/* Registers of user space. */
static __always_inline bool arch_is_user(const struct pt_regs *regs)
{
	return !(regs->pstate & PSTATE_MODE);
}

/* Of a program for 32 bits, whose stack is none of this machine's. */
static __always_inline bool arch_is_foreign(const struct pt_regs *regs)
{
	return regs->pstate & PSTATE_AARCH32;
}

static __always_inline u64 arch_ip(const struct pt_regs *regs)
{
	return regs->pc;
}

static __always_inline u64 arch_sp(const struct pt_regs *regs)
{
	return regs->sp;
}

/* Argument 0 to 7 of a function, at its entry (AAPCS64). A macro: nr is a constant. */
#define arch_argument(from, nr) ((from)->regs[nr])

/* What a function returns, at its return. */
static __always_inline u64 arch_result(const struct pt_regs *regs)
{
	return regs->regs[0];
}

/* What sp is at the return of a function that had entry_sp at its entry. */
static __always_inline u64 arch_return_sp(u64 entry_sp)
{
	return entry_sp;
}

/* An address of code, without the signature that may stand in its upper bits. */
static __always_inline u64 arch_strip(u64 ip)
{
	return ip & ~config.pac_mask;
}

/* A walk that begins at a function's entry instead of its return: as it will be there. */
static __always_inline void arch_return_to_caller(struct walk *walk)
{
	walk->ip = arch_strip(walk->extra);
}

/* An address of data, without what a program may note in its highest byte (TBI, MTE): free() may come with another note. */
static __always_inline u64 arch_untag(u64 address)
{
	return address << 8 >> 8;
}

/* The kernel's own, which has more than the ABI's part and is not of one size in all versions. */
struct pt_regs___saved {
	u64 pstate;
} __attribute__((preserve_access_index));

/*
 * The registers that the kernel saved when current entered it, before Linux 5.15, which has a helper:
 * they are at the top of the kernel stack.
 */
static __always_inline bool arch_copy_saved(struct pt_regs *regs)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return !bpf_probe_read_kernel(regs, sizeof(*regs),
				      BPF_CORE_READ(task, stack) + config.kernel_stack_bytes -
					      bpf_core_type_size(struct pt_regs___saved));
}

/* What tpidr_el0 was when current was last switched away from: it stays. 0: that cannot be read. */
static __always_inline u64 arch_thread_block(void)
{
	struct task_struct *task;

	if (kernel_has(get_current_task_btf))
		return bpf_get_current_task_btf()->thread.uw.tp_value;
	if (config.no_kernel_reads)
		return 0;
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, thread.uw.tp_value);
}

/* Constant indices, all written out: the verifiers refuse a loop over what a context has. */
#define LEAF(i) walk->leaf[i] = regs->regs[i]

/* The leaf frame's registers. */
static __always_inline void arch_begin_walk(struct walk *walk, const struct pt_regs *regs)
{
	LEAF(0), LEAF(1), LEAF(2), LEAF(3), LEAF(4), LEAF(5), LEAF(6), LEAF(7);
	LEAF(8), LEAF(9), LEAF(10), LEAF(11), LEAF(12), LEAF(13), LEAF(14), LEAF(15);
	LEAF(16), LEAF(17), LEAF(18), LEAF(19), LEAF(20), LEAF(21), LEAF(22), LEAF(23);
	LEAF(24), LEAF(25), LEAF(26), LEAF(27), LEAF(28), LEAF(29), LEAF(30);
	walk->leaf[ARM64_REG_SP] = walk->sp = regs->sp;
	walk->fp = regs->regs[29];
	walk->extra = regs->regs[30];
	walk->ip = regs->pc;
}

/* Where a breakpoint is met, pc stays at it. */
static __always_inline void arch_undo_breakpoint(struct walk *walk, const struct pt_regs *saved)
{
}

/* Follows an instruction of code without unwind information. */
static __always_inline int arch_follow(struct scratch *scratch)
{
	u32 word;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)scratch->arm64_line.pc))
		return CODE_LINE_ENDS;
	return arm64_follow(&scratch->arm64_line, word);
}

#endif
