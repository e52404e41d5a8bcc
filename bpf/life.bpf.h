/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What becomes of sampled blocks over time, for the questions about peaks, leaks and lifetimes: nothing of this runs, and
 * its maps are empty, without config.keeps_lives.
 */
#ifndef CPROF_LIFE_BPF_H
#define CPROF_LIFE_BPF_H

#include "prelude.bpf.h"

/* A value of a counts map that nothing was counted in. */
extern const volatile struct abi_life_count life_none;

/* Fills in when a block of current's begins, now, and for how many bytes it stands. */
void life_begin(struct abi_block *block, u64 size_bytes);
/*
 * Counts a block of current's in count as taken: the image may hold more than ever before with it. What is in struct
 * abi_block comes by value: Linux 7.2 loses track of a pointer to the stack of a caller's caller.
 */
void life_taken(struct abi_life_count *count, u64 weight_bytes);
/* Counts it as freed, and how old it was. */
void life_freed(struct abi_life_count *count, u64 born_ns, u64 weight_bytes);

#endif
