/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The sampled blocks that are alive: an address of current's image -> its record and its life; and which
 * images hold any.
 */
#ifndef CPROF_LIVE_BPF_H
#define CPROF_LIVE_BPF_H

#include "prelude.bpf.h"

/* Takes current's block at address out, into *block. false: there is none, it was not sampled. */
bool live_take(u64 address, struct abi_block *block);
/* Enters current's block at address, which must not be there. false: there is no room. */
bool live_put(u64 address, const struct abi_block *block);
/* An image ends, of exec or exit: user space shall take its blocks out. */
void live_end_image(u32 tgid, u32 exec_id, enum abi_holder how);

#endif
