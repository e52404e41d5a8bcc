/* SPDX-License-Identifier: BSD-2-Clause */
/* What the BPF object is told before it is loaded: how large its maps are, and its constants. */
#ifndef CPROF_COLLECT_CONFIGURE_H
#define CPROF_COLLECT_CONFIGURE_H

#include "collect/probe.h"
#include "collect/session.h"

struct cprof_bpf;

/* bpf is open and not loaded. Sets nothing that depends on which targets there are, but for only_tgid. */
void configure_bpf(struct cprof_bpf *bpf, const struct session_options *options,
		   const struct kernel_features *features);

#endif
