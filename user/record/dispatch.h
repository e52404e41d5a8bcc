/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands what a session drains to the parts of a run, in the order that they need:
 *
 *	events	to tasks (what runs where), then to tablesync (what BPF has to know)
 *	records	finished by tablesync, written by captures, named if in JIT-compiled code, kept by the builder, looked at by
 *		ifuncnames
 *	counts	added up by the builder
 */
#ifndef CPROF_RECORD_DISPATCH_H
#define CPROF_RECORD_DISPATCH_H

#include <stdbool.h>

#include "base/hash.h"
#include "base/vec.h"
#include "record/captures.h"
#include "record/targetset.h"
#include "collect/session.h"
#include "base/workbudget.h"
#include "process/task.h"
#include "record/builder.h"
#include "record/ifuncnames.h"
#include "record/kernelcode.h"
#include "feed/tablesync.h"

/* All borrowed. */
struct dispatch {
	struct session *session;
	struct tasks *tasks;
	struct tablesync *tablesync;
	struct captures *captures; /* NULL: not asked for */
	struct builder *builder;
	struct framenames *framenames;
	struct ifuncnames *ifuncnames;
	struct kernelcode *kernelcode;
	struct workbudget *budget;
	struct targetset *targetset; /* NULL: targets are fixed */
	bool judges; /* leave out the samples of processes that targetset does not want */
	bool only_known; /* leave out the events of processes that are neither known nor forked by one that is */

	uint64_t collected_ns; /* to be read: samples taken until then are delivered */

	/* Private. */
	vec_of(uint64_t) unwanted; /* ids of their records */
	struct hash unwanted_index;
	uint64_t nr_unwanted; /* their samples; may be read */
};

/*
 * Drains, and gives BPF the tables that it was missing. *is_new: there were any, so the next drain should come soon.
 * -errno, printed.
 */
int dispatch_drain(struct dispatch *dispatch, bool *is_new);

/* At the end, after the last drain: tells the builder of each block that is alive. */
void dispatch_blocks(struct dispatch *dispatch);

/* Releases the private part only. */
void dispatch_release(struct dispatch *dispatch);

#endif
