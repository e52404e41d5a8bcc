/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a session drains, handed to those whom it concerns, in the only order that serves them all:
 *
 *	events	what runs where (tasks), and so what BPF has to know (tablesync)
 *	records	are finished (tablesync), shown as they came and as they became (captures), named where
 *		they lie in code that a process made, and kept (builder)
 *	counts	are added up (builder)
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
#include "feed/tablesync.h"

/* The rooms are borrowed. */
struct dispatch {
	struct session *session;
	struct tasks *tasks;
	struct tablesync *tablesync;
	struct captures *captures; /* NULL: nobody asked for them */
	struct builder *builder;
	struct workbudget *budget;
	struct targetset *targetset; /* NULL: it has nothing to choose */
	bool judges;		     /* what comes of processes that it does not want is left out */

	uint64_t collected_ns; /* to be read: samples taken until then are delivered */

	/* Private. */
	vec_of(uint64_t) unwanted; /* ids of their records */
	struct hash unwanted_index;
	uint64_t nr_unwanted; /* their samples; to be read */
};

/*
 * Drains, and gives BPF the tables that this showed to be missing. *is_new: there were any, so look again
 * soon. -errno, printed.
 */
int dispatch_drain(struct dispatch *dispatch, bool *is_new);

void dispatch_release(struct dispatch *dispatch);

#endif
