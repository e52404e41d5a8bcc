// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A window begins at the word asked for: walks go up. The first is small, since most of a short
 * stack's cost is cold cache lines; the later ones are large. A window that would reach into a page
 * that is not there is read to the end of its page instead, so that a missing page only fails the
 * frames that lie in it.
 */
#include "stackmem.bpf.h"

#define PAGE_BYTES	   4096u
#define FIRST_WINDOW_BYTES 1024u

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
	len = walk->nr_windows ? WINDOW_BYTES : FIRST_WINDOW_BYTES;
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

/*
 * If the whole cannot be read, then page by page what there is. The whole lies in five pages at most,
 * and if only the fifth is missing the others are all there is: so no piece of a page is ever needed
 * at the end, and each read is known to fit (to verifiers of before 6.12, too).
 */
__hidden u32 stackmem_copy(struct scratch *scratch, u64 sp)
{
	u8 *copy = scratch->stack.stack;
	u32 done = 0;

	if (!bpf_probe_read_user(copy, ABI_STACK_COPY_BYTES, (void *)sp))
		return ABI_STACK_COPY_BYTES;
	for (u32 i = 0; i < ABI_STACK_COPY_BYTES / PAGE_BYTES; i++) {
		u32 len = to_page_end(sp + done);

		if (len > PAGE_BYTES || done > ABI_STACK_COPY_BYTES - PAGE_BYTES ||
		    bpf_probe_read_user(copy + done, len, (void *)(sp + done)))
			break;
		done += len;
	}
	return done;
}
