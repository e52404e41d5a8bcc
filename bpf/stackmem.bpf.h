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

/* The 8 bytes at address. false: they are not in memory (or not the target's). */
bool stackmem_load(struct scratch *scratch, u64 address, u64 *value);

/* Copies what there is of the stack from sp on, at most ABI_STACK_COPY_BYTES; returns how much. */
u32 stackmem_copy(struct scratch *scratch, u64 sp);

#endif
