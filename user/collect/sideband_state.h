/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rings of process events, private to sideband.c, which reads them, sideband_record.c, which parses one record, and
 * sideband_cpus.c, which follows CPUs that come and go.
 */
#ifndef CPROF_COLLECT_SIDEBAND_STATE_H
#define CPROF_COLLECT_SIDEBAND_STATE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/sideband.h"

/* The last bytes of a record. */
struct sideband_trailer {
	uint32_t pid, tid;
	uint64_t time; /* CLOCK_MONOTONIC */
};

/* The event that makes the announcements. */
struct perf_event_attr sideband_announcements(void);
/* Of a ring with its control page. */
size_t sideband_ring_bytes(void);
/* MAP_FAILED: errno is set. Unmap sideband_ring_bytes(). */
void *sideband_map_ring(int fd);
/* Moves what a ring holds to pending. */
void sideband_read_ring(struct sideband *sideband, void *ring);

/* Where a record's trailer is: behind its body, and inside the record. */
const struct sideband_trailer *sideband_trailer(const struct perf_event_header *header);
/*
 * Fills in the event of one record, but for its time; false: it says nothing of interest. end is where its trailer begins. Texts
 * are copied to pending.
 */
bool sideband_parse(struct sideband *sideband, const struct perf_event_header *header,
		    const void *end, struct task_event *event);

#endif
