/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * From a filled work space to a counted record: the only writer of the counts maps and the ring.
 * Every function that can lose the sample counts why.
 */
#ifndef CPROF_RECORD_BPF_H
#define CPROF_RECORD_BPF_H

#include "prelude.bpf.h"
#include "scratch.bpf.h"

/* Before the start of the run, and after its end: nothing may be counted or stored. */
bool record_is_stopped(void);
/* It is, and calls shall be counted (ABI_LOOKS). */
bool record_looks(void);
/*
 * Closes the record in slot's scratch: sizes and the id that everything in it hashes to. Changes nothing
 * outside it.
 */
void record_close(u32 slot, u64 size_bytes);
/* Wakes user space, to look at what is mapped. */
void record_wake(void);
/*
 * Counts the record of scratch once, sending its description if its id is new. block: the one that it is about; NULL: a
 * tick. false: lost.
 */
bool record_store(struct scratch *scratch, const struct abi_block *block);
/* One of the blocks counted under its id is gone. */
void record_freed(const struct abi_block *block);

#endif
