/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * User stacks: from registers to a list of ips, leaf first, in a slot's work space. Writes at most
 * ABI_MAX_USER_FRAMES of them, behind the record's kernel ips, and always says why it ended. Of a
 * longer walk both ends are kept (cprof_abi.h).
 */
#ifndef CPROF_UNWIND_BPF_H
#define CPROF_UNWIND_BPF_H

#include "prelude.bpf.h"
#include "scratch.bpf.h"

/* Appends one ip. */
void unwind_push(struct scratch *scratch, u64 ip);
/* Walks from walk's registers, whose ip comes first, to the end of the stack. */
void unwind_user(u32 slot);

#endif
