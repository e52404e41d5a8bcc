/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds one process to the targets of a run: reads its mappings, builds its tables, probes its allocators.
 *
 * Used for processes that exist when a run begins, and for those that become targets later (targetset.h).
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
	bool is_running;       /* side-band events already say what is mapped */
};

/* The callback `tell` of targetset.h: ctx is a struct addtarget. A process that has ended meanwhile is ignored. */
void addtarget_tell(void *ctx, uint32_t tgid, bool wanted);
/* The callback `undecided`: BPF samples it as one that it does not know. */
void addtarget_undecided(void *ctx, uint32_t tgid);
/* The callback `gone`: what BPF was told of it is taken back, if it was told too late. */
void addtarget_gone(void *ctx, uint32_t tgid);

#endif
