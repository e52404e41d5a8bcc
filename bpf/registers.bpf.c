// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A tick that interrupts user space has its registers at hand. One that hits the kernel needs those that
 * the kernel saved when the task entered it, from the top of the task's kernel stack. Three cases need
 * care: tasks without user memory (exiting, or in the middle of an exec), tasks stopped at a uprobe's
 * breakpoint, and kernels before 5.15, which have no helper for the saved registers. The latter read them by
 * address, which lockdown=confidentiality forbids: then cpu.bpf.c has to do without them.
 */
#include "registers.bpf.h"

#define INT3 0xcc

static __always_inline bool is_user_mode(const struct pt_regs *regs)
{
	return (regs->cs & 3) == 3;
}

/*
 * The registers that the kernel saved when current entered it, before Linux 5.15, which has a helper:
 * they are at the top of the kernel stack, which is THREAD_SIZE = 16 KB on x86-64.
 */
static __always_inline bool copy_saved_registers(struct pt_regs *regs)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return !bpf_probe_read_kernel(regs, sizeof(*regs),
				      BPF_CORE_READ(task, stack) + 16384 - sizeof(*regs));
}

static __always_inline bool is_in_execve(void)
{
	struct task_struct *task;

	if (!bpf_core_field_exists(struct task_struct, in_execve))
		return false;
	if (kernel_has(get_current_task_btf)) {
		task = bpf_get_current_task_btf();
		return BPF_CORE_READ_BITFIELD(task, in_execve);
	}
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

static __always_inline bool has_memory(void)
{
	struct task_struct *task;

	if (kernel_has(get_current_task_btf))
		return bpf_get_current_task_btf()->mm;
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, mm);
}

/*
 * A task that exits has given its memory up, and one in the middle of an execve has got other memory:
 * the registers of its old image still are on the kernel stack, but the user stack is gone.
 */
static __always_inline bool is_between_images(u64 sp)
{
	u64 word;

	return !has_memory() ||
	       (is_in_execve() && bpf_probe_read_user(&word, sizeof(word), (void *)sp));
}

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
static __always_inline void undo_breakpoint(struct walk *walk, u64 orig_ax)
{
	u8 code[2]; /* before ip, and at it */

	if (orig_ax != ~0ull || !has_met_probes() ||
	    bpf_probe_read_user(code, sizeof(code), (void *)(walk->ip - 1)))
		return;
	if (code[0] == INT3 && code[1] != INT3)
		walk->ip--;
}

/* leaf is in the order of DWARF's numbers. */
static __always_inline void begin_walk(struct walk *walk, const struct pt_regs *regs)
{
	walk->leaf[0] = regs->ax;
	walk->leaf[1] = regs->dx;
	walk->leaf[2] = regs->cx;
	walk->leaf[3] = walk->bx = regs->bx;
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
	walk->ip_exact = walk->has_leaf = walk->bx_known = true;
}

/* At what the kernel saved: a copy, or a typed pointer to it. */
static __always_inline bool begin_saved(struct walk *walk, const struct pt_regs *saved)
{
	if (!is_user_mode(saved)) {
		walk->end = ABI_END_NO_REGISTERS;
		return false;
	}
	if (is_between_images(saved->sp)) {
		walk->end = ABI_END_NO_USER;
		return false;
	}
	begin_walk(walk, saved);
	undo_breakpoint(walk, saved->orig_ax);
	return true;
}

__hidden bool registers_begin_walk(const struct pt_regs *interrupted, struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct pt_regs copy;

	walk->nr = walk->nr_walked = walk->window_bytes = walk->nr_windows = walk->runtime = 0;
	walk->collections_at = walk->unloads_at = scratch->record.unloads = 0;
	scratch->nr_shadow = scratch->has_shadow = 0;
	if (scratch->is_kernel_thread) {
		walk->end = ABI_END_NO_USER;
		return false;
	}
	if (is_user_mode(interrupted)) {
		begin_walk(walk, interrupted);
		return true;
	}
	if (kernel_has(task_pt_regs))
		return begin_saved(walk, (void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
	if (config.no_kernel_reads || !copy_saved_registers(&copy)) {
		walk->end = ABI_END_NO_REGISTERS;
		return false;
	}
	return begin_saved(walk, &copy);
}
