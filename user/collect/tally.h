/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up the per-CPU counters of bpf/stats.bpf.c into a struct tally. */
#ifndef CPROF_COLLECT_TALLY_H
#define CPROF_COLLECT_TALLY_H

#include "collect/session.h"

/*
 * Reads the stats map, and the in-flight map unless its descriptor is -1. Fields that come from perf events or from
 * the live map are left alone, except that nr_live counts the blocks inside a realloc. -errno of the kernel.
 */
int tally_read(int stats_fd, int inflight_fd, struct tally *tally);

#endif
