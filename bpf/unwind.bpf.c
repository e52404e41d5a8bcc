// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Frame pointers. Where code keeps them, rbp points at a pair on the stack
 *
 *	rbp -> [ caller's rbp ][ return address ]	higher addresses ->
 *
 * and each caller's pair lies higher. The chain ends in a 0 rbp, which _start sets; code that uses
 * rbp for something else breaks it, and that shows as a value that is not a higher, aligned, readable
 * stack address. Nothing of what the target's memory says is trusted further than that.
 *
 * The step is a global function (not static) with a scalar argument: the verifier then checks it once,
 * by itself, and not again for each turn of the loop.
 */
#include "unwind.bpf.h"

static bool is_user_mode(const struct pt_regs *regs)
{
	return (regs->cs & 3) == 3;
}

/*
 * The registers that the kernel saved when current entered it. bpf_task_pt_regs() knows (Linux 5.15);
 * before that: they are at the top of the kernel stack, which is THREAD_SIZE = 16 KB on x86-64.
 */
static bool read_saved_registers(struct pt_regs *regs)
{
	struct task_struct *task;
	void *saved;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		saved = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	} else {
		task = (void *)bpf_get_current_task();
		saved = BPF_CORE_READ(task, stack) + 16384 - sizeof(*regs);
	}
	return !bpf_probe_read_kernel(regs, sizeof(*regs), saved) && is_user_mode(regs);
}

__hidden bool unwind_registers(const struct pt_regs *interrupted, struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct pt_regs saved;

	walk->nr = 0;
	if (scratch->is_kernel_thread) {
		walk->end = ABI_END_NO_USER;
		return false;
	}
	if (is_user_mode(interrupted)) {
		walk->ip = interrupted->ip;
		walk->sp = interrupted->sp;
		walk->bp = interrupted->bp;
		return true;
	}
	if (!read_saved_registers(&saved)) {
		walk->end = ABI_END_NO_REGISTERS;
		return false;
	}
	walk->ip = saved.ip;
	walk->sp = saved.sp;
	walk->bp = saved.bp;
	return true;
}

__hidden bool unwind_push(struct scratch *scratch, u64 ip)
{
	u32 i = scratch->record.nr_kernel + scratch->walk.nr;

	if (scratch->walk.nr >= ABI_MAX_USER_FRAMES || i >= ABI_MAX_FRAMES) {
		scratch->walk.end = ABI_END_TOO_DEEP;
		return false;
	}
	scratch->record.ips[i] = ip;
	scratch->walk.nr++;
	return true;
}

/* From one frame to its caller's. 0: there is one, and its ip is written; 1: the walk is over. */
__noinline int unwind_step(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);
	struct walk *walk;
	u64 pair[2];

	if (!scratch)
		return 1;
	walk = &scratch->walk;
	walk->end = ABI_END_ROOT;
	if (!walk->bp)
		return 1;
	walk->end = ABI_END_BROKEN_CHAIN;
	if (walk->bp < walk->sp || walk->bp & 7)
		return 1;
	if (bpf_probe_read_user(pair, sizeof(pair), (void *)walk->bp)) {
		if (walk->nr > 1)
			walk->end = ABI_END_UNREADABLE;
		return 1;
	}
	walk->end = ABI_END_ROOT;
	if (!pair[1])
		return 1;
	walk->ip = pair[1];
	walk->sp = walk->bp + sizeof(pair);
	walk->bp = pair[0];
	return !unwind_push(scratch, walk->ip);
}

__hidden void unwind_user(u32 slot)
{
	struct scratch *scratch = scratch_at(slot);

	if (!scratch || !unwind_push(scratch, scratch->walk.ip))
		return;
	for (int i = 0; i < ABI_MAX_USER_FRAMES; i++)
		if (unwind_step(slot))
			return;
}
