// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Read is what the kernel keeps of current's probes. A program that samples may have interrupted the kernel in the midst of a
 * change of it: a pointer that is not there reads as 0, and what does not fit is left alone.
 */
#include "uprobes.bpf.h"

#include "arch/arch.bpf.h"
#include "branchless.bpf.h"
#include "scratch.bpf.h"
#include "stackmem.bpf.h"
#include "unwind.bpf.h"

#define MAX_PENDING	 64u /* the kernel makes no more (MAX_URETPROBE_DEPTH) */
#define TRAMPOLINE_BYTES 64u
#define COPY_WORDS	 (ABI_STACK_PIECE_BYTES / 8)
_Static_assert(!(COPY_WORDS & (COPY_WORDS - 1)), "the index is masked");

/* A member of what the kernel points to: by the pointer's type, or by its address (prelude.bpf.h). */
#define MEMBER(from, name) \
	(kernel_has(get_current_task_btf) ? (from)->name : BPF_CORE_READ(from, name))

static __always_inline struct task_struct *current_task(void)
{
	if (kernel_has(get_current_task_btf))
		return bpf_get_current_task_btf();
	return config.no_kernel_reads ? NULL : (void *)bpf_get_current_task();
}

/* Of current, and where the page is. NULL: it has met no probe. */
static __always_inline struct uprobe_task *find_task(u64 *page)
{
	struct task_struct *task = current_task();
	struct uprobe_task *utask;
	struct xol_area *area;
	struct mm_struct *mm;

	if (!task || !bpf_core_type_exists(struct xol_area))
		return NULL;
	utask = MEMBER(task, utask);
	mm = MEMBER(task, mm);
	if (!utask || !mm)
		return NULL;
	area = MEMBER(mm, uprobes_state.xol_area);
	if (!area)
		return NULL;
	*page = MEMBER(area, vaddr);
	return utask;
}

static __always_inline bool go_to(struct scratch *scratch, u64 ip)
{
	scratch->walk.ip = ip;
	unwind_put(scratch, scratch->walk.nr - 1, ip);
	return true;
}

/* Before the copy of the instruction, or behind it: registers and stack are as they are at the instruction itself. */
static __always_inline bool leave_slot(struct scratch *scratch, struct uprobe_task *utask)
{
	u64 done = scratch->walk.ip - MEMBER(utask, xol_vaddr);

	if (!scratch->walk.ip_exact || done > ARCH_INSTRUCTION_BYTES)
		return false;
	return go_to(scratch, MEMBER(utask, vaddr) + done);
}

/*
 * Of several probes of one call each has the real address. What a longjmp() has left behind lies further down
 * the stack than sp. Of a call whose frame the walk has just left sp is behind the return address.
 */
static __always_inline bool leave_trampoline(struct scratch *scratch, struct uprobe_task *utask,
					     u64 trampoline)
{
	struct return_instance *call = MEMBER(utask, return_instances);
	struct walk *walk = &scratch->walk;
	u32 pushed = walk->ip_exact ? ARCH_TRAMPOLINE_PUSHES : 0;

	for (u32 i = 0; i < MAX_PENDING && call; i++) {
		u64 stack = MEMBER(call, stack), ip;

		if (arch_return_sp(stack) - walk->sp <= pushed) {
			ip = MEMBER(call, orig_ret_vaddr);
			if (ip == trampoline)
				return false;
			walk->sp = arch_return_sp(stack);
			return go_to(scratch, ip);
		}
		call = MEMBER(call, next);
	}
	return false;
}

static __always_inline bool leave(struct scratch *scratch, struct uprobe_task *utask, u64 page)
{
	u64 offset = scratch->walk.ip - page;

	if (offset >= PAGE_BYTES)
		return false;
	return offset < TRAMPOLINE_BYTES ? leave_trampoline(scratch, utask, page)
					 : leave_slot(scratch, utask);
}

/*
 * Each round without branches: the verifier would follow all of them, in all rounds, which was a third of its work on a
 * program that samples.
 */
static __always_inline void restore(struct scratch *scratch, struct uprobe_task *utask,
				    u64 trampoline, u64 sp)
{
	struct return_instance *call = MEMBER(utask, return_instances);
	u64 *words = (u64 *)scratch->stack.stack;

	for (u32 i = 0; i < MAX_PENDING && call; i++) {
		u64 offset = MEMBER(call, stack) - sp, ip = MEMBER(call, orig_ret_vaddr);
		u64 *word = &words[(offset / 8) & (COPY_WORDS - 1)];
		/* 0: the word is in the copy, and is the trampoline's address */
		u64 differs = (offset & ~(8ull * (COPY_WORDS - 1))) | (*word ^ trampoline);

		*word = ip ^ ((ip ^ *word) & -is_nonzero(differs));
		call = MEMBER(call, next);
	}
}

__noinline int uprobes_undo(u32 slot, u64 copy_sp)
{
	struct scratch *scratch = scratch_at(slot);
	u64 page = 0;
	struct uprobe_task *utask = find_task(&page);

	if (!scratch || !utask)
		return 0;
	if (!copy_sp)
		return leave(scratch, utask, page);
	restore(scratch, utask, page, copy_sp);
	return 0;
}
