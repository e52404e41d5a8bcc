// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A window begins at the word asked for: walks go up. The first is small, since most of a short
 * stack's cost is cold cache lines; the second is twice as large, the later ones are large. A window that would reach into a page
 * that is not there is read to the end of its page instead, so that a missing page only fails the
 * frames that lie in it.
 */
#include "stackmem.bpf.h"

#include "arch/arch.bpf.h"

#define FIRST_WINDOW_BYTES  1024u
#define SECOND_WINDOW_BYTES 2048u
#define ABOVE_BYTES	    64u /* a little more than nothing, should a walk look there */

static __always_inline u32 to_page_end(u64 address)
{
	return PAGE_BYTES - (address & (PAGE_BYTES - 1));
}

__noinline int stackmem_refill(u32 slot, u64 address)
{
	struct scratch *scratch = scratch_at(slot);
	struct walk *walk;
	u32 len;

	if (!scratch)
		return false;
	walk = &scratch->walk;
	len = !walk->nr_windows	      ? FIRST_WINDOW_BYTES
	      : walk->nr_windows == 1 ? SECOND_WINDOW_BYTES
				      : WINDOW_BYTES;
	walk->nr_windows++;
	walk->window_at = address;
	walk->window_bytes = 0;
	if (bpf_probe_read_user(scratch->window, len, (void *)address)) {
		len = to_page_end(address);
		if (len > WINDOW_BYTES ||
		    bpf_probe_read_user(scratch->window, len, (void *)address))
			return false;
	}
	walk->window_bytes = len;
	return true;
}

__hidden u64 stackmem_thread_block(void)
{
	return arch_thread_block();
}

/*
 * Below the first stack's beginning are its frames, above it arguments and environment. The others
 * are what libc allocates: each of the usual ones puts the thread's own block at the upper end. Either bounds the stack only if it is near.
 */
__noinline u32 stackmem_rest(u64 sp)
{
	u64 start = 0, block = stackmem_thread_block(), to_start, to_block, rest;
	struct task_struct *task;
	struct mm_struct *mm;

	if (kernel_has(get_current_task_btf)) {
		task = bpf_get_current_task_btf();
		mm = task->mm;
		start = mm ? mm->start_stack : 0;
	} else if (!config.no_kernel_reads) {
		task = (void *)bpf_get_current_task();
		mm = BPF_CORE_READ(task, mm);
		start = BPF_CORE_READ(mm, start_stack);
	}
	to_start = start + ABOVE_BYTES - sp;
	to_block = block + ABOVE_BYTES - sp;
	rest = to_start < to_block ? to_start : to_block;

	return rest < STACKMEM_UNKNOWN ? rest : STACKMEM_UNKNOWN;
}

/*
 * If the whole cannot be read, then page by page what there is. A large array that was not written
 * yet leaves a hole in the stack: it is read as zeros, which bpf_probe_read_user() leaves there.
 * Pieces end where a page does, so that each read is known to fit (to verifiers of before 6.12, too).
 */
__hidden u32 stackmem_copy(struct scratch *scratch, u64 sp, u32 len_bytes)
{
	u8 *copy = scratch->stack.stack;
	u32 done = 0, there = 0;

	if (!bpf_probe_read_user(copy, stackmem_piece(sp), (void *)sp))
		there = done = stackmem_piece(sp);
	for (u32 i = 0; i < ABI_STACK_PIECE_BYTES / PAGE_BYTES && done < len_bytes; i++) {
		u32 len = to_page_end(sp + done);

		if (len > PAGE_BYTES || done > ABI_STACK_PIECE_BYTES - PAGE_BYTES)
			break; /* all done */
		if (!bpf_probe_read_user(copy + done, len, (void *)(sp + done)))
			there = done + len;
		done += len;
	}
	return there < len_bytes ? there : len_bytes;
}
