/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* x86-64: included by runtime.bpf.h. */
#ifndef CPROF_ARCH_X86_RUNTIME_BPF_H
#define CPROF_ARCH_X86_RUNTIME_BPF_H

#include "arch/tls.bpf.h"

/* Whether functions of programs may make tail calls. */
#define ARCH_HAS_TAIL_CALLS true

#define ARCH_REG_LOOP 15 /* r15: PHP's loop has the operation that it is at in it */

/* glibc's block of current, struct pthread: the thread pointer points to it. */
static __always_inline u64 arch_pthread(u64 thread_pointer)
{
	return thread_pointer;
}

/* Loads the thread-local variable whose tls_index is at state. */
static __always_inline bool arch_load_tls(u64 state, u64 thread_pointer, u64 *word)
{
	u64 index[2];

	return !bpf_probe_read_user(index, sizeof(index), (void *)state) &&
	       arch_load_of_module(thread_pointer + 8, index[0], index[1], word);
}

#endif
