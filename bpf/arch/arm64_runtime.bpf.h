/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * arm64: included by runtime.bpf.h.
 *
 * struct pthread ends where the thread pointer points to, and its size is another in each glibc (1792 bytes in 2.31, 1856 in 2.36, 1824 in
 * 2.41). But the kernel knows where a part of it is: each thread says at its start where its list of robust futexes is
 * (set_robust_list(2)), which all of them have at the same place in it.
 *
 * A library's thread-local variable is asked for by a pair of words (TLSDESC), which the loader has filled in: a function, and its
 * argument. That is a distance from the thread pointer where the library was there from the start, and else the address of a module's
 * number and an offset. No distance is as large as an address is at least.
 */
#ifndef CPROF_ARCH_ARM64_RUNTIME_BPF_H
#define CPROF_ARCH_ARM64_RUNTIME_BPF_H

#include "arch/tls.bpf.h"

/* Whether functions of programs may make tail calls: since Linux 6.0, to which the helper is as new. Before, runtimes are not walked. */
#define ARCH_HAS_TAIL_CALLS kernel_has(tcp_raw_check_syncookie_ipv6)

#define ARCH_REG_LOOP 28 /* x28: PHP's loop has the operation that it is at in it */

#define ROBUST_LIST_AT	  0xe0 /* struct pthread: robust_head */
#define MAX_PTHREAD_BYTES 4096
#define MAX_TLS_DISTANCE  (1u << 20)

/* Newer kernels (7.2 for one): the list is in a structure of its own. */
struct futex_sched_data___own {
	void *robust_list;
} __attribute__((preserve_access_index));

struct task_struct___own {
	struct futex_sched_data___own futex;
} __attribute__((preserve_access_index));

#define HAS_OWN_FUTEX bpf_core_field_exists(struct task_struct___own, futex)

/*
 * The verifier takes what it knows to be a pointer for one, and refuses to count with it; but the distance of two pointers is a
 * number, and the same task is one, too.
 */
static __always_inline u64 arch_robust_list(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_struct___own *own = (void *)task;
	u64 distance =
		(u64)task - (u64)(HAS_OWN_FUTEX ? own->futex.robust_list : task->robust_list);

	barrier_var(distance);
	return bpf_get_current_task() - distance;
}

/* glibc's block of current, struct pthread. 0: it has none, or the kernel's side cannot be read. */
static __always_inline u64 arch_pthread(u64 thread_pointer)
{
	u64 list;

	if (!bpf_core_field_exists(struct task_struct, robust_list))
		return 0;
	if (kernel_has(get_current_task_btf)) {
		list = arch_robust_list();
	} else {
		if (config.no_kernel_reads)
			return 0;
		list = (u64)BPF_CORE_READ((struct task_struct *)bpf_get_current_task(),
					  robust_list);
	}
	return thread_pointer - list < MAX_PTHREAD_BYTES ? list - ROBUST_LIST_AT : 0;
}

/* Loads the thread-local variable whose pair is at state. */
static __always_inline bool arch_load_tls(u64 state, u64 thread_pointer, u64 *word)
{
	u64 pair[2], index[2];

	if (bpf_probe_read_user(pair, sizeof(pair), (void *)state))
		return false;
	if (pair[1] < MAX_TLS_DISTANCE)
		return !bpf_probe_read_user(word, sizeof(*word),
					    (void *)(thread_pointer + pair[1]));
	return !bpf_probe_read_user(index, sizeof(index), (void *)pair[1]) &&
	       arch_load_of_module(thread_pointer, index[0], index[1], word);
}

#endif
