/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What it takes to profile one more process: what it has mapped is known, its tables are made, BPF samples
 * it, and with heap its allocators are probed. For those that are there when a run begins, and for those
 * that come to be wanted later (chooser.h).
 */
#ifndef CPROF_RECORD_ENLIST_H
#define CPROF_RECORD_ENLIST_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/session.h"
#include "heap/prober.h"
#include "process/task.h"
#include "feed/unwinder.h"

/* All borrowed. */
struct enlist {
	struct session *session;
	struct tasks *tasks;
	struct unwinder *unwinder;
	struct prober *prober; /* NULL: not a heap profile */
	bool is_running;       /* events have told of what is mapped */
};

/* Is the tell of chooser.h: ctx is a struct enlist. What is gone by then is passed over. */
void enlist_tell(void *ctx, uint32_t tgid, bool wanted);

#endif
