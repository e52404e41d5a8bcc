/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills the table from which BPF reads the sampling probability (bpf/coin.bpf.c draws it). */
#ifndef CPROF_COLLECT_COIN_H
#define CPROF_COLLECT_COIN_H

#include <stdint.h>

#include "cprof_abi.h"

/* pieces has ABI_COIN_PIECES entries; rate_bytes > 1. */
void coin_fill(struct abi_coin_piece *pieces, uint64_t rate_bytes);

#endif
