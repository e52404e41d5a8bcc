/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Thread-local variables of a module that the loader found room for later: the same on all machines but for where it begins. */
#ifndef CPROF_ARCH_TLS_BPF_H
#define CPROF_ARCH_TLS_BPF_H

#include "prelude.bpf.h"

#define ARCH_DTV_BYTES 16 /* of an entry of the vector of thread-local blocks: glibc */

/* What is at offset in the thread-local block of a module, in *word; dtv_at: where the address of their vector is. */
static __always_inline bool arch_load_of_module(u64 dtv_at, u64 module, u64 offset, u64 *word)
{
	u64 at = 0;

	return !bpf_probe_read_user(&at, sizeof(at), (void *)dtv_at) &&
	       !bpf_probe_read_user(&at, sizeof(at),
				    (void *)(at + ARCH_DTV_BYTES * (u64)(u32)module)) &&
	       !bpf_probe_read_user(word, sizeof(*word), (void *)(at + offset));
}

#endif
