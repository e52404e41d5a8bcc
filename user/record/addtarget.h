/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What it takes to profile one more process: what it has mapped is known, its tables are made, BPF samples
 * it, and with heap its allocators are probed. For those that are there when a run begins, and for those
 * that come to be wanted later (targetset.h).
 */
#ifndef CPROF_RECORD_ADDTARGET_H
#define CPROF_RECORD_ADDTARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/session.h"
#include "heap/prober.h"
#include "process/task.h"
#include "feed/tablesync.h"

/* All borrowed. */
struct addtarget {
	struct session *session;
	struct tasks *tasks;
	struct tablesync *tablesync;
	struct prober *prober; /* NULL: not a heap profile */
	bool is_running;       /* events have told of what is mapped */
};

/* Is the tell of targetset.h: ctx is a struct enlist. What is gone by then is passed over. */
void addtarget_tell(void *ctx, uint32_t tgid, bool wanted);

#endif
