/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up the per-CPU counters of bpf/stats.bpf.c into a struct tally. */
#ifndef CPROF_COLLECT_TALLY_H
#define CPROF_COLLECT_TALLY_H

#include "collect/session.h"

/*
 * Reads the stats map, the in-flight map and the live map. What the perf events know is not touched.
 * -errno of the kernel.
 */
int tally_read(int stats_fd, int inflight_fd, int live_fd, struct tally *tally);

#endif
