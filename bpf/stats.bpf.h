/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* One per-CPU counter for everything that can happen to a sample. Adding never fails. */
#ifndef CPROF_STATS_BPF_H
#define CPROF_STATS_BPF_H

#include "prelude.bpf.h"

/* Add 1, or nr, to a counter of this CPU. */
void stat_inc(enum abi_stat stat);
void stat_add(enum abi_stat stat, u64 nr);

#endif
