/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The target's stack, read in windows: one bpf_probe_read_user() costs the same whether it brings 16
 * bytes or 4 KB, and a frame is some hundred bytes. So a piece of stack is copied once, and the words
 * of the frames in it are read from the copy.
 */
#ifndef CPROF_STACKMEM_BPF_H
#define CPROF_STACKMEM_BPF_H

#include "prelude.bpf.h"
#include "scratch.bpf.h"

#define WINDOW_BYTES (WINDOW_WORDS * 8u)

/*
 * Makes the slot's window begin at address, a multiple of 8. 0: it is not in memory. Global, and so
 * verified once and not at each of its many callers.
 */
int stackmem_refill(u32 slot, u64 address);

/*
 * The 8 bytes at address. false: they are not in memory (or not the target's). Here, to be inlined:
 * it runs twice a frame, and the window nearly always has them.
 */
static __always_inline bool stackmem_load(struct scratch *scratch, u32 slot, u64 address,
					  u64 *value)
{
	u64 offset = address - scratch->walk.window_at, word = 0;

	if (address & 7) { /* nobody aligns a stack so, but a CFI rule may say it */
		if (bpf_probe_read_user(&word, sizeof(word), (void *)address))
			return false;
		*value = word;
		return true;
	}
	if (offset + 8 > scratch->walk.window_bytes || offset > WINDOW_BYTES) {
		if (!stackmem_refill(slot, address))
			return false;
		offset = 0;
	}
	*value = scratch->window[(offset / 8) & (WINDOW_WORDS - 1)];
	return true;
}

#define PAGE_BYTES 4096u

/* How much of the stack from sp on goes into a piece: to the end of a page. */
static __always_inline u32 stackmem_piece(u64 sp)
{
	return ABI_STACK_PIECE_BYTES - (sp & (PAGE_BYTES - 1));
}

/* The thread pointer of current: its own block of libc's. 0: that cannot be read. */
u64 stackmem_thread_block(void);

#define STACKMEM_UNKNOWN (1u << 30)

/* How far it is from sp to where current's stack began. Global, to be verified once. */
u32 stackmem_rest(u64 sp);
/*
 * Copies what there is of a piece of stack from sp on, about len_bytes of it; returns how much, up to
 * the last that is there.
 */
u32 stackmem_copy(struct scratch *scratch, u64 sp, u32 len_bytes);

/* A JVM's counter of 32 bits, UNWIND_UNLOADS(). 0: there is none, or it cannot be read. */
static __always_inline u64 stackmem_counter(u64 at)
{
	u32 nr = 0;

	return at && !bpf_probe_read_user(&nr, sizeof(nr), (void *)at) ? UNWIND_UNLOADS(nr) : 0;
}

#endif
