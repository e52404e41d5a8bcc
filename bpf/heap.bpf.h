/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The life of an allocator call, between its entry and its return. alloc.bpf.c knows where a function
 * keeps its arguments; this does not.
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

/*
 * At the entry of an allocator function: its stack pointer and its arguments are still what the caller
 * made them. site: its cookie. false: nothing is to be done at its return.
 */
bool heap_enter(const struct pt_regs *regs, u64 site, const struct heap_call *call);
/*
 * At its return; finds the call that heap_enter() noted. Returns without effect where this is not
 * the return of the outermost call.
 */
void heap_return(const struct pt_regs *regs);
/* In free, while its argument is there. */
void heap_free(u64 address);

/* A block that was sampled in the process itself. */
struct heap_block {
	u64 address;
	u64 size_bytes;
	u64 entry_ip; /* the function that allocated it */
};

/* Such a block is about to be returned to the caller; the stack is as at the function's entry. */
void heap_sampled(const struct pt_regs *regs, const struct heap_block *block);
/* Such a block is about to be freed by a realloc; heap_moved() tells whether that succeeded. */
void heap_leaves(const struct pt_regs *regs, u64 address);
void heap_moved(bool has_moved);

/* A thread ends, or execs: the call that it is in, if any, will not return. */
void heap_end_thread(u64 pid_tgid, enum abi_holder how);

#endif
