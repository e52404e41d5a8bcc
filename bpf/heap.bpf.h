/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The life of an allocator call, between its entry and its return, and of a sampled block, between
 * its allocation and its free. alloc.bpf.c knows where a function keeps its arguments; this does not.
 */
#ifndef CPROF_HEAP_BPF_H
#define CPROF_HEAP_BPF_H

#include "prelude.bpf.h"

struct heap_call {
	enum abi_allocator allocator;
	u64 size_bytes;
	u64 old_address; /* realloc family, else 0 */
	u64 result_at;	 /* posix_memalign, else 0 */
};

/* At an allocator function's first instruction. */
void heap_enter(const struct pt_regs *regs, const struct heap_call *call);
/*
 * At its return; finds the call that heap_enter() noted. Returns without effect where this is not
 * the return of the outermost call.
 */
void heap_return(const struct pt_regs *regs, enum abi_allocator allocator);
/* At the first instruction of free. */
void heap_free(u64 address);

#endif
