/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Programs that somebody has uprobes in (bpftrace's, perf's, those of a cprof heap) while others sample. The kernel maps a page
 * of its own into them, [uprobes] (kernel/events/uprobes.c):
 *
 *	a trampoline	At the entry of a function with a return probe, its address takes the place of the return address
 *			on the stack, and the real one is kept in a list of the task's (prepare_uretprobe()).
 *	slots		An instruction that has a probe in its place is executed here, by a copy (xol_get_insn_slot()).
 *
 * A walk that comes there goes on as if there were no probe, but for a tick in the moment in which the return address is
 * replaced already and not in the list yet. Where the trampoline is about to return, its own code shows the caller
 * (gap.bpf.c).
 */
#ifndef CPROF_UPROBES_BPF_H
#define CPROF_UPROBES_BPF_H

#include "prelude.bpf.h"

/*
 * Both of the following. Global, to be verified once; one function, because each pointer that is read from a task makes
 * the verifier search through the names of all types of the kernel, which takes more than a millisecond.
 */
int uprobes_undo(u32 slot, u64 copy_sp);

/* If the slot's walk is in that page, puts it where the program is, its last frame, too. Returns whether it did. */
static __always_inline int uprobes_leave(u32 slot)
{
	return uprobes_undo(slot, 0);
}

/* Puts the real return addresses into the slot's copy of a piece of stack from sp on. */
static __always_inline void uprobes_restore(u32 slot, u64 sp)
{
	uprobes_undo(slot, sp);
}

#endif
