/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Decides whether an allocation is sampled, independently for each, with probability 1 - e^(-size/rate). */
#ifndef CPROF_SAMPLING_BPF_H
#define CPROF_SAMPLING_BPF_H

#include "prelude.bpf.h"

/* p as a fraction of 2^64, read off the table that user space wrote. size 0 counts as 1. */
u64 sampling_threshold(u64 size_bytes);
/* Draws: true with probability p. */
bool sampling_draw(u64 size_bytes);

#endif
