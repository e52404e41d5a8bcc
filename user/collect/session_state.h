/* SPDX-License-Identifier: BSD-2-Clause */
/* What a session consists of. Private to session.c, which samples, and session_open.c, which loads and attaches. */
#ifndef CPROF_COLLECT_SESSION_STATE_H
#define CPROF_COLLECT_SESSION_STATE_H

#include <stdint.h>

#include "base/vec.h"
#include "collect/cputime.h"
#include "collect/drain.h"
#include "collect/price.h"
#include "collect/probe.h"
#include "collect/purge.h"
#include "collect/runtimes.h"
#include "collect/sampling.h"
#include "collect/session.h"
#include "collect/sideband.h"
#include "collect/tables.h"
#include "collect/uprobes.h"
#include "cprof.skel.h"
#include "cprof_abi.h"

struct session {
	struct session_options options;
	struct kernel_features features;
	struct cprof_bpf *bpf;
	struct sampler sampler;
	struct sideband sideband;
	uint64_t gather_ns; /* when the next time is due */
	struct drain drain;
	struct tables tables;
	struct runtimes runtimes;
	struct uprobes uprobes;
	struct purge purge;	/* heap */
	struct price price;	/* heap */
	struct cputime cputime; /* heap */
	uint64_t cpu_ns;	/* heap: of the targets, when it was stopped */
	uint32_t nr_left_out;	/* processes for which there was no room among the targets */
	vec_of(struct bpf_link *) links; /* of the tracepoints */
	int epoll_fd;
};

/*
 * Has the session's epoll descriptor report fd. Edges, not levels: the event ring nearly always holds something, and BPF says
 * when that is worth waking up for. -errno.
 */
int session_watch(struct session *session, int fd);

#endif
