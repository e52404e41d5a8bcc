// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A tick that interrupts user space has its registers at hand. One that hits the kernel needs those that
 * the kernel saved when the task entered it, from the top of the task's kernel stack. Three cases need
 * care: tasks without user memory (exiting, or in the middle of an exec), tasks stopped at a uprobe's
 * breakpoint, and kernels before 5.15, which have no helper for the saved registers. The latter read them by
 * address, which lockdown=confidentiality forbids: then cpu.bpf.c has to do without them.
 */
#include "registers.bpf.h"

#include "arch/arch.bpf.h"

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

static __always_inline bool end_foreign(struct walk *walk)
{
	walk->end = ABI_END_FOREIGN;
	return false;
}

static __always_inline void begin_walk(struct walk *walk, const struct pt_regs *regs)
{
	arch_begin_walk(walk, regs);
	walk->ip_exact = walk->has_leaf = walk->extra_known = true;
}

/* At what the kernel saved: a copy, or a typed pointer to it. */
static __always_inline bool begin_saved(struct walk *walk, const struct pt_regs *saved)
{
	if (!arch_is_user(saved)) {
		walk->end = ABI_END_NO_REGISTERS;
		return false;
	}
	if (arch_is_foreign(saved))
		return end_foreign(walk);
	if (is_between_images(arch_sp(saved))) {
		walk->end = ABI_END_NO_USER;
		return false;
	}
	begin_walk(walk, saved);
	arch_undo_breakpoint(walk, saved);
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
	if (arch_is_user(interrupted)) {
		if (arch_is_foreign(interrupted))
			return end_foreign(walk);
		begin_walk(walk, interrupted);
		return true;
	}
	if (kernel_has(task_pt_regs))
		return begin_saved(walk, (void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
	if (config.no_kernel_reads || !arch_copy_saved(&copy)) {
		walk->end = ABI_END_NO_REGISTERS;
		return false;
	}
	return begin_saved(walk, &copy);
}
