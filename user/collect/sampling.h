/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills the table of sampling probabilities that BPF reads (bpf/sampling.bpf.c draws it). */
#ifndef CPROF_COLLECT_SAMPLING_H
#define CPROF_COLLECT_SAMPLING_H

#include <stdint.h>

#include "cprof_abi.h"

/* pieces has ABI_SAMPLING_PIECES entries; rate_bytes > 1. */
void sampling_fill(struct abi_sampling_piece *pieces, uint64_t rate_bytes);

#endif
